"""`python -m rcap`: the commands of the program `rcap` that need nothing but this package."""

import argparse
import difflib
import json
import os
import platform
import sys
import time

import numpy as np

from . import METHODS, Error, InternalError, InvalidArgument, __version__, _bench, make_pruner

# Options of single methods: the methods that take them, and how argparse reads them.
METHOD_OPTIONS = {
    "beta": (["rcap"], {"type": float, "metavar": "B", "help": "temperature of the draw inside a class"}),
    "class_share": (["rcap"], {"choices": ["paper", "mass", "group"], "help": "split over the classes"}),
    "initial_loss": (["rcap"], {"choices": ["forward", "log-c"], "help": "losses before training: observed, or ln(classes)"}),
    "clip": (["rcap"], {"choices": ["class-max", "log-c"], "help": "where losses are cut"}),
    "min_per_class": (["rcap"], {"type": int, "metavar": "K", "help": "kept of each class while the budget allows"}),
    "epochs": (["infobatch"], {"type": int, "metavar": "E", "help": "epochs of the whole run; required"}),
    "batch_size": (["infobatch"], {"type": int, "metavar": "B", "help": "makes the run meet --pruning-rate"}),
    "prune_probability": (["infobatch"], {"type": float, "metavar": "P", "help": "part below the mean loss that is left out"}),
    "annealing": (["infobatch"], {"type": float, "metavar": "D", "help": "part of the run that prunes"}),
    "loss_weight": (["ucb", "epsilon-greedy"], {"type": float, "metavar": "A", "help": "weight of the newest loss"}),
    "confidence": (["ucb"], {"type": float, "metavar": "K", "help": "weight of the variance"}),
    "epsilon": (["epsilon-greedy"], {"type": float, "metavar": "E", "help": "random part"}),
    "period": (["ucb", "epsilon-greedy"], {"type": int, "metavar": "T", "help": "epochs between selections"}),
    "stratified": (["rs2-replace"], {"action": "store_const", "const": True, "help": "every class keeps its part"}),
    "hard_cutoff": (["ccs"], {"type": float, "metavar": "H", "help": "part with the lowest scores dropped first"}),
    "strata": (["ccs"], {"type": int, "metavar": "N", "help": "bins of the score"}),
    "quota": (["metriq"], {"choices": ["density", "size"], "help": "class error times class size, or class error alone"}),
}
NEEDED_ARRAYS = {"ccs": "scores", "tdds": "scores", "metriq": "recalls"}

SELECT_EPILOG = """\
The first call takes the loss of every sample before training and starts the state;
each further call takes the losses of the epoch just trained and selects the next:

  python -m rcap select --labels labels.npy --losses initial.npy --state s.rcap --out ids.npy
  python -m rcap select --labels labels.npy --losses losses.npy --ids ids.npy --state s.rcap --out ids.npy

States and selections are those of the program `rcap`: either may go on with what the other has written.
"""


def make_parser():
    parser = argparse.ArgumentParser(prog="python -m rcap", description=sys.modules["rcap"].__doc__.partition("\n")[0])
    parser.add_argument("--version", action="version", version=f"rcap {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_select(commands)
    add_bench(commands)
    commands.add_parser("doctor", help="show versions and what the machine has").set_defaults(run=run_doctor)
    return parser


def add_select(commands):
    select = commands.add_parser(
        "select", help="select the samples of one epoch from arrays on disk", epilog=SELECT_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    select.set_defaults(run=run_select)
    data = select.add_argument_group("data (.npy, one dimension)")
    data.add_argument("--labels", metavar="FILE", help="class of every sample, integers; required")
    data.add_argument("--classes", type=int, metavar="C", help="number of classes, else largest label + 1")
    data.add_argument("--losses", metavar="FILE", help="first call: of all samples; then of the epoch just trained")
    data.add_argument("--ids", metavar="FILE", help="whose losses they are; else one per sample of the data")
    data.add_argument("--scores", metavar="FILE", help="a score per sample, for ccs and tdds")
    data.add_argument("--recalls", metavar="FILE", help="a recall per class, for metriq")
    run = select.add_argument_group("run")
    run.add_argument("--method", choices=METHODS, default="rcap", metavar="NAME", help=" ".join(METHODS) + " [rcap]")
    run.add_argument("--pruning-rate", type=float, metavar="R", help="fraction removed, 0 <= R < 1 [0.9]")
    run.add_argument("--epoch", type=int, metavar="T", help="epoch to select, else the one after the state's")
    run.add_argument("--seed", type=int, metavar="S", help="of all random numbers [0]")
    run.add_argument("--threads", type=int, metavar="N", help="they change the time, never the result [1]")
    run.add_argument("--state", metavar="FILE", help="what the pruner remembers; made if not there, then updated")
    run.add_argument("--config", metavar="FILE", help="a TOML file of options: pruning-rate = 0.9")
    out = select.add_argument_group("output")
    out.add_argument("--out", metavar="FILE", help="ids of the selected samples, int64 (.npy); required")
    out.add_argument("--weights", metavar="FILE", help="factor of each selected sample's loss, float32 (.npy)")
    out.add_argument("--order", choices=["training", "ascending"], default="training", help="of the ids")
    out.add_argument("--json", action="store_true", help="print the result as one JSON object")
    out.add_argument("--quiet", action="store_true", help="print no summary")
    methods = select.add_argument_group("options of single methods")
    for name, (takers, how) in METHOD_OPTIONS.items():
        methods.add_argument(as_word(name), **{**how, "help": f"{', '.join(takers)}: {how['help']}"})


def add_bench(commands):
    bench = commands.add_parser("bench", help="measure selection and bookkeeping")
    select = bench.add_subparsers(required=True, metavar="WHAT").add_parser(
        "select", help="on made-up data", epilog=_bench.EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    _bench.add_options(select)
    select.set_defaults(run=_bench.run)


def as_word(name):
    return "--" + name.replace("_", "-")


def words_of_config(arguments):
    """The options in the file of --config, as words of a command line."""
    known = {as_word(name) for name in vars(arguments)} - {"--run", "--command", "--config"}
    words = []
    for name, value in read_config(arguments.config).items():
        word = as_word(name)
        if word not in known:
            near = difflib.get_close_matches(word, known, 1)
            raise InvalidArgument(f"--config: there is no option {word}{f' (did you mean {near[0]}?)' if near else ''}; see "
                                  "python -m rcap select --help")
        if isinstance(value, bool):
            words += [word] if value else []
        else:
            words += [word, str(value)]
    return words


def read_config(path):
    try:
        import tomllib
    except ImportError as error:
        raise InvalidArgument(f"--config {path}: reading TOML needs Python 3.11 or newer") from error
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InvalidArgument(f"--config {path}: {error}") from error


def read_array(path):
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{path}: {error}") from error


def method_options(arguments):
    """What the constructor of the method is given, beside the labels."""
    options = {"class_count": arguments.classes}
    for name in ("pruning_rate", "seed", "threads"):
        if getattr(arguments, name) is not None:
            options[name] = getattr(arguments, name)
    for name, (takers, _) in METHOD_OPTIONS.items():
        value = getattr(arguments, name)
        if value is None:
            continue
        if arguments.method not in takers:
            raise InvalidArgument(f"{as_word(name)} is an option of {' and '.join(takers)}, not of {arguments.method}")
        options[name] = value
    needed = "epochs" if arguments.method == "infobatch" else NEEDED_ARRAYS.get(arguments.method)
    if needed and getattr(arguments, needed) is None:
        raise InvalidArgument(f"--{needed} is missing: {arguments.method} needs it")
    if needed and needed != "epochs":
        options[needed] = read_array(getattr(arguments, needed))
    return options


def observe_losses(pruner, arguments):
    losses = read_array(arguments.losses)
    if arguments.ids is not None:
        pruner.observe(read_array(arguments.ids), losses)
        return
    if len(losses) != pruner.sample_count:
        raise InvalidArgument(f"{arguments.losses}: holds {len(losses)} losses, {pruner.sample_count} are needed: one per "
                              "sample; or name the samples with --ids")
    ids = pruner.select(pruner.epoch).ids if pruner.epoch >= 0 else np.arange(pruner.sample_count)
    pruner.observe(ids, losses[ids])


def epoch_to_select(pruner, arguments):
    last = pruner.epoch
    epoch = last + 1 if arguments.epoch is None else arguments.epoch
    if epoch == last and arguments.losses is not None:
        raise InvalidArgument(f"--epoch {epoch} with --losses: {arguments.state} has selected epoch {last} already; the "
                              f"losses of epoch {last} go with --epoch {last + 1}")
    return epoch


def write_outputs(arguments, selection, pruner):
    """Everything under temporary names first, so that a full disk changes nothing."""
    staged = []
    weights = np.ones(len(selection), np.float32) if selection.weights is None else selection.weights
    try:
        for path, array in ((arguments.out, selection.ids), (arguments.weights, weights)):
            if path is None:
                continue
            staged.append((f"{path}.{os.getpid()}.tmp", path))
            with open(staged[-1][0], "wb") as file:
                np.save(file, array)
                file.flush()
                os.fsync(file.fileno())
        for temporary, path in staged:
            os.replace(temporary, path)
    except OSError as error:
        raise InvalidArgument(f"cannot write {error.filename or arguments.out}: {error.strerror}") from error
    finally:
        for temporary, _ in staged:
            if os.path.exists(temporary):
                os.remove(temporary)
    if arguments.state is not None:
        pruner.save(arguments.state)


def run_select(arguments):
    for name in ("labels", "out"):
        if getattr(arguments, name) is None:
            raise InvalidArgument(f"--{name} is missing; see python -m rcap select --help")
    if arguments.ids is not None and arguments.losses is None:
        raise InvalidArgument("--ids without --losses; ids tell whose losses are given")
    start = time.perf_counter()
    labels = read_array(arguments.labels)
    pruner = make_pruner(arguments.method, labels, **method_options(arguments))
    if arguments.state is not None and os.path.exists(arguments.state):
        pruner.load(arguments.state)
    epoch = epoch_to_select(pruner, arguments)
    if arguments.losses is not None:
        observe_losses(pruner, arguments)
    selection = pruner.select_in_order(epoch) if arguments.order == "training" else pruner.select(epoch)
    write_outputs(arguments, selection, pruner)
    counts = np.bincount(labels[selection.ids], minlength=pruner.class_count)
    if arguments.json:
        print(json.dumps({
            "method": arguments.method, "epoch": epoch, "seed": pruner.seed, "n": pruner.sample_count,
            "classes": pruner.class_count, "keep_count": pruner.keep_count, "selected": len(selection),
            "class_counts": counts.tolist(), "seconds": time.perf_counter() - start}))
    elif not arguments.quiet:
        print(f"{arguments.method}, epoch {epoch}: selected {len(selection)} of {pruner.sample_count} samples")
        print(f"ids in {arguments.out}" + (f", state in {arguments.state}" if arguments.state else ""))


def run_doctor(_):
    print(f"rcap       {__version__}")
    print(f"python     {platform.python_version()}, NumPy {np.__version__}")
    print(f"system     {platform.platform()}")
    print(f"threads    {len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()}")
    for package in ("torch", "lightning", "transformers", "accelerate"):
        print(f"{package:<10} {version_of(package)}")


def version_of(package):
    from importlib import metadata
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def main(words=None):
    words = sys.argv[1:] if words is None else words
    parser = make_parser()
    arguments = parser.parse_args(words)
    try:
        if getattr(arguments, "config", None) is not None:  # what the command line says comes later, and counts
            command, *others = words
            arguments = parser.parse_args([command, *words_of_config(arguments), *others])
        arguments.run(arguments)
    except Error as error:
        print(f"rcap: {error}", file=sys.stderr)
        return 1 if isinstance(error, InternalError) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
