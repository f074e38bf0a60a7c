"""An agent for CodeAssist without a model: it tries expressions with the `run` tool and hands in one that suits the example."""

import itertools
import json
import re

import gymnasium as gym

SHAPES = """
{a}.{f}()
{f}({a})
[{x}.{f}() for {x} in {a}]
[{x} for {x} in {a} if {x} {op} limit]
sum({x} for {x} in {a} if {x} {op} limit)
set({a}) {s} set({b})
{a} {m} {n}
[{x} {m} {n} for {x} in {a}]
{q}({x} {op} limit for {x} in {a})
low {op} {a} {op2} high
sorted({a})[{n}]
sorted({a}, reverse=True)[{n}]
{a}[{n}:]
{a}[:{n}]
{a}[::-1]
""".strip().splitlines()
CHOICES = {
    "f": ("max", "min", "sum", "len", "sorted", "list", "upper", "lower", "split"),
    "op": (">", ">=", "<", "<="),
    "op2": ("<", "<="),
    "s": "&|^-",
    "m": "+-*/",
    "q": ("any", "all"),
    "n": ("0", "1", "2", "10", "60"),
}
MOST_TRIES = 7


class TryingAgent:
    """Orders expressions by the words that they share with the docstring, and tries them eight at a time."""

    def reset(self, observation):
        shown = observation[0]["content"]
        before = shown.rpartition("<CURSOR>")[0]
        head = re.findall(r"def \w+\((.*?)\):", before)[-1]
        self.names = [name.strip() for name in head.split(",")]
        self.words = set(re.findall(r"\w+", re.findall(r'"""(.*?)"""', before)[-1].lower()))
        self.waiting = iter(sorted(self.expressions(), key=self.distance))
        self.tried, self.turns = [], 0

    def expressions(self):
        for shape in SHAPES:
            keys = sorted({key for key in CHOICES if re.search(r"\{" + key + r"\}", shape)})
            for values in itertools.product(*(CHOICES[key] for key in keys)):
                a, b = self.names[0], self.names[-1]
                yield shape.format(a=a, b=b, x=a.removesuffix("s") or "x", **dict(zip(keys, values, strict=True)))

    def distance(self, expression):
        return -len(self.words & set(re.findall(r"\w+", expression))), len(expression)

    def act(self, observation):
        heard = observation[-1]["content"]
        answers = re.findall(r"<tool_response>\n(.*?)\n</tool_response>", heard, re.DOTALL)
        for expression, answer in zip(self.tried, answers, strict=False):
            if "examples give what they should" in answer:
                return f"```python\n{expression}\n```"
        self.tried = list(itertools.islice(self.waiting, 8))
        self.turns += 1
        if not self.tried or self.turns > MOST_TRIES or not (answers or self.turns == 1):
            return '<tool_call>{"name": "finish", "arguments": {"message": "Done as far as I can."}}</tool_call>'
        calls = [json.dumps({"name": "run", "arguments": {"code": expression}}) for expression in self.tried]
        return "".join(f"<tool_call>{call}</tool_call>" for call in calls)


env, agent, solved = gym.make("slmagent:SLMAgent/CodeAssist-v0", level=1, max_turns=20), TryingAgent(), 0
for seed in range(24):
    observation, info = env.reset(seed=seed)
    agent.reset(observation)
    done = False
    while not done:
        observation, reward, terminated, truncated, info = env.step(agent.act(observation))
        done = terminated or truncated
    solved += info["success"]
print(f"{solved} of 24 expressions found by trying")
