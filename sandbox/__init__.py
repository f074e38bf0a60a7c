"""Runs programs that nobody trusts, and tests them from outside.

    make("process").run(code, tests=[Case("add(2, 3)", value=5)], stdin="", limits=Limits(cpu_seconds=1)) -> ExecResult

Every run is a fresh process that is gone, with all it has started, when `run` returns. Tests are asked inside, one after the
other, in the namespace of the program; their expected values stay outside, and what comes out is compared there, type by type.
What a machine does not grant is said by `Sandbox.layers`, by `ExecResult.missing` and by `slmagent sandbox doctor`, and
`require=` turns it into an error.

Backends:
    process     A warm fork-server of prepared interpreters (Linux). The default.
    docker      The same server as the first process of a container, one run at a time in each. Needs an engine on this machine.
    restricted  As `process`, behind a written policy that refuses at once what it does not know and says why; for instant
                rejects and small expressions, never the only layer.

Layers of `process`:
    limits                CPU time and memory (watched over all processes of the run, and by the kernel for each), time on
                          the clock, output, size of files, open files, processes. CPU time decides, since it repeats.
    empty environment     No variables of ours; fixed hash seed, fixed paths, memory addresses scrubbed from what is shown.
    no new privileges     Programs with set-user-id gain nothing.
    user namespace        The program is nobody, also where the server is root.
    process namespace     It sees its own processes only; ending the first of them ends all, so nothing is left behind.
    mount namespace,      An own root: Python and the libraries it needs, read-only; an own working directory, in memory and
    private file system   of limited size; no file of this machine.
    network namespace     One for each server, without an interface that is up.
    ipc, host name        No shared memory, queues or name in common.
    no capabilities       All dropped, also those inside the namespaces.
    system-call filter    Refuses calls that programs do not need: new namespaces, mounts, tracing, keys, BPF, io_uring, user
                          faults, modules, vsock, raising limits of others.

Layers of `docker`, each looked at from inside when a container starts:
    container             No network, read-only root, private folders in memory, control groups for memory, processes and CPU,
                          all capabilities dropped, no new privileges, a user of its own, the engine's system-call filter and
                          ours. A run cannot look into the server, which is the first process, nor end it; a container is used
                          again only when no process and no file of the run before is left.

Covered, and tested by the corpus in tests/hostile: endless loops, numbers and memory without end, floods of output, fork
bombs, threads, background processes, files and environment of this machine, network, other processes, signals, late
finalisers, patched builtins, and programs that forge verdicts (printed words, exit codes, objects that equal everything,
walked frames, a searched heap, written descriptors).

Not covered:
    * Faults of the kernel: all runs share it. Use a virtual machine against people who have one to spare.
    * Side channels: caches, timing, load; a run can tell how busy the machine is, and slow others down within its limits.
    * Whoever may use the Docker engine is root on this machine; `docker` protects from programs, not from that.
    * Without namespaces (where the kernel or a container forbids them) files and processes of this user are in reach, but for
      the system-call filter and file permissions; `require="namespaces"` refuses to start then.
    * A program that knows the right answers and prints them: no verdict can tell it from one that computes them.
    * GPUs and other devices: there are none inside.
    * Other systems than Linux.
"""

from slmagent.sandbox.making import make

__all__ = ["make"]
