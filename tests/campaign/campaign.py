"""Fails calls to the system and kills processes, and compares every run with its undisturbed twin.

    make campaign                                                  all of it, hours
    campaign.py --faults 40 --kills 10 --jobs select,train         a part

A fault is a call to the system that fails once (faults.cpp), at every call of every command. The command must end well
with the result of its twin, or with one line and an exit code; given again it must then end well. A kill is SIGKILL at
such a call, or at a random moment.
"""

import argparse
import dataclasses
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from jobs import PROGRAM, all_jobs, copy, run

LIBRARY = os.environ["RCAP_FAULTS"]
KINDS = {"ENOSPC": "open write pwrite fsync rename mkdir ftruncate",
         "EIO": "open read pread write pwrite fsync rename unlink mkdir ftruncate fstat opendir",
         "EINTR": "open read pread write pwrite fsync flock",
         "EMFILE": "open opendir",
         "EAGAIN": "pthread_create mmap flock",
         "ENOMEM": "mmap open",
         "EACCES": "open rename unlink mkdir opendir"}
LONGEST = 120  # seconds; whatever takes longer hangs
MOST_TRIES = 60


@dataclasses.dataclass
class Tally:
    faults: int = 0
    survived: int = 0  # ended well all the same
    kills: int = 0
    problems: list = dataclasses.field(default_factory=list)

    def add(self, other):
        self.faults += other.faults
        self.survived += other.survived
        self.kills += other.kills
        self.problems += other.problems

    def __str__(self):
        return (f"{self.faults} faults, {self.survived} of them without effect, {self.kills} kills, "
                f"{len(self.problems)} problems")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(".unfinished")}


class Twin:
    """A job, the files that it begins with, and its result when nothing disturbs it."""

    def __init__(self, job, folder):
        self.job = job
        self.prepared = folder / "prepared"
        self.prepared.mkdir(parents=True)
        job.prepare(self.prepared)
        self.folder = folder
        undisturbed = self.fresh("twin")
        self.trace = folder / "trace"
        printed = self.run(undisturbed, "TRACE:0+", self.trace)
        assert printed.returncode == 0, (job.name, printed.stderr)
        self.result = job.result(undisturbed, printed.stdout)
        assert not job.leftovers(undisturbed), job.leftovers(undisturbed)
        self.calls = self.read(self.trace)

    @staticmethod
    def read(report):
        """The calls of all processes, each with its number."""
        if not report.exists():
            return set()
        lines = (line.split() for line in report.read_text().splitlines())
        return {(call, int(number)) for call, number in lines}

    def fresh(self, name):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        copy(self.prepared, folder)
        return folder

    def run(self, folder, fault, report):
        report.unlink(missing_ok=True)
        return run(*self.job.words(folder), folder=folder, timeout=LONGEST,
                   env={**os.environ, "LD_PRELOAD": LIBRARY, "RCAP_FAULT": fault, "RCAP_FAULT_REPORT": str(report)})

    def settle(self, folder):
        """Gives the command until it has ended well, and compares. Returns what is wrong, or nothing."""
        words = self.job.words(folder)
        for _ in range(3):
            again = run(*words, folder=folder, timeout=LONGEST)
            if again.returncode == 0:
                break
            words = self.job.way_out(folder, again.stderr)
            if words is None:
                break
        else:
            return f"does not end well: {again.stderr.strip()}"
        return self.difference(folder, again.stdout)

    def difference(self, folder, printed):
        if self.job.result(folder, printed) != self.result:
            return "another result"
        left = self.job.leftovers(folder)
        return f"leaves {left}" if left else ""

    def disturb(self, fault, tally):
        """One fault, or a kill at a call."""
        folder = self.fresh("disturbed")
        report = self.folder / "report"
        try:
            result = self.run(folder, fault, report)
            if not self.read(report):
                return  # threads: the call had another number
            is_kill = fault.startswith("KILL")
            tally.kills += is_kill
            tally.faults += not is_kill
            problem = "" if is_kill else self.judge(result)
            if result.returncode == 2 and self.job.refuses_whole and contents(folder) != contents(self.prepared):
                problem = problem or "exit code 2 after a file was replaced"
            if result.returncode == 0 and not self.job.told(result.stdout):
                tally.survived += not is_kill
                problem = problem or self.difference(folder, result.stdout)
            else:
                problem = problem or self.settle(folder)
        except subprocess.TimeoutExpired:
            problem = "hangs"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            calls = ", ".join(f"{call} {number}" for call, number in sorted(self.read(report)))
            tally.problems.append(f"{self.job.name}, {fault} ({calls}): {problem}")

    @staticmethod
    def judge(result):
        """What is wrong with how a disturbed command ended, or nothing."""
        if result.returncode < 0:
            return f"ended by signal {-result.returncode}: {result.stderr.strip()[-200:]}"
        if "bug in rcap" in result.stderr:
            return result.stderr.strip()
        if result.returncode not in (0, 1, 2):
            return f"exit code {result.returncode}: {result.stderr.strip()}"
        if result.returncode != 0 and "rcap: " not in result.stderr:
            return f"exit code {result.returncode} without a word: {result.stderr.strip()[-200:]}"
        return ""

    def kill_at_random(self, kills, chance, tally):
        """Kills the command at random moments, as often as asked; each time it ends well it begins anew."""
        start = time.monotonic()
        whole = self.fresh("killed")
        run(*self.job.words(whole), folder=whole, timeout=LONGEST)
        seconds = time.monotonic() - start
        done = 0
        while done < kills:
            folder = self.fresh("killed")
            for _ in range(MOST_TRIES):
                if done == kills:
                    break
                process = subprocess.Popen([PROGRAM, *map(str, self.job.words(folder))],
                                           cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    process.wait(timeout=chance.uniform(0, 1.1 * seconds))
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    done += 1
            try:
                problem = self.settle(folder)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            if problem:
                tally.problems.append(f"{self.job.name}, killed at random: {problem}")
        tally.kills += done


def faults_of(twin):
    """All faults that the command's calls can have."""
    return [f"{kind}:{number}" for call, number in sorted(twin.calls, key=lambda entry: entry[1])
            for kind, calls in KINDS.items() if call in calls.split()]


def kill_ranks(kills, chance, folder):
    """Kills torchrun with all its ranks at random moments; it ends with the weights of its twin, bit for bit."""
    import torch
    tally = Tally()
    script = pathlib.Path(__file__).with_name("ranks_loop.py")
    command = [os.environ["RCAP_PYTHON_ENV"], "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend",
               "c10d", "--rdzv-endpoint", "localhost:0", str(script)]

    def start(place):
        place.mkdir(parents=True, exist_ok=True)
        return subprocess.Popen([*command, str(place)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                start_new_session=True, env={**os.environ, "OMP_NUM_THREADS": "1"})

    begun = time.monotonic()
    assert start(folder / "twin").wait(LONGEST) == 0
    seconds = time.monotonic() - begun
    expected = torch.load(folder / "twin/result.pt")
    rounds = 0
    while tally.kills < kills:
        rounds += 1
        place = folder / f"killed-{rounds}"
        while not (place / "result.pt").exists():
            process = start(place)
            try:
                limit = chance.uniform(0.3, 1.1) * seconds if tally.kills < kills else LONGEST
                process.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # torchrun
                subprocess.run(["pkill", "-KILL", "-f", str(place)], check=False)  # its ranks
                process.wait()
                tally.kills += 1
        found = torch.load(place / "result.pt")
        same = all(torch.equal(found[part][name], tensor)
                   for part in expected for name, tensor in expected[part].items())
        if not same:
            tally.problems.append("torchrun, killed at random: another result")
    return tally


def spread(faults, most, chance):
    """At most so many, evenly over all calls."""
    return faults if len(faults) <= most else sorted(chance.sample(faults, most), key=faults.index)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=10**9, help="at most, of each job")
    parser.add_argument("--kills", type=int, default=50, help="of each job: at calls, and of long ones at random too")
    parser.add_argument("--jobs", default="", help="only those whose names begin so, e.g. select,train")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    chance = random.Random(chosen.seed)
    wanted = tuple(chosen.jobs.split(","))
    total, begun = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rcap_campaign_") as place:
        for number, job in enumerate(job for job in all_jobs() if job.name.startswith(wanted)):
            twin, tally = Twin(job, pathlib.Path(place) / str(number)), Tally()
            for fault in spread(faults_of(twin), chosen.faults, chance):
                twin.disturb(fault, tally)
            moments = sorted({number for _, number in twin.calls})
            for moment in spread(moments, chosen.kills, chance):
                twin.disturb(f"KILL:{moment}", tally)
            if job.is_long:
                twin.kill_at_random(chosen.kills, chance, tally)
            print(f"{job.name:24} {tally}", flush=True)
            total.add(tally)
        if "RCAP_PYTHON_ENV" in os.environ and "torchrun".startswith(wanted):
            tally = kill_ranks(chosen.kills, chance, pathlib.Path(place) / "torchrun")
            print(f"{'torchrun':24} {tally}", flush=True)
            total.add(tally)
    for problem in total.problems:
        print(problem)
    print(f"{'all':24} {total}; {time.monotonic() - begun:.0f} s, seed {chosen.seed}")
    return 1 if total.problems else 0


if __name__ == "__main__":
    sys.exit(main())
