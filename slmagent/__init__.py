"""slmagent: turn small language models into multi-turn agents that hold up.

`import slmagent` registers the environments; it does not import torch.
"""

import pkgutil

# Without this, a wheel install that runs from the repository root sees ./slmagent only and misses the sibling folders.
__path__ = pkgutil.extend_path(__path__, __name__)

__version__ = "0.1.0"

from slmagent.envs.registration import register_all

register_all()
