"""What holds the code together, checked on its source: layers, sizes, docstrings, randomness.

Each guard is a function from source text to a list of complaints, and has a test that it bites.
"""

import ast
import functools
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import alignset

ROOT = Path(alignset.__file__).parent
GRAPH = {
    "interrupts": (),
    "extras": ("interrupts",),
    "labels": (),
    "progress": (),
    "rows": ("labels",),
    "noise": ("rows",),
    "evaluate": ("rows",),
    "stack": ("rows", "extras"),
    "methods": ("stack", "evaluate"),
    "engine": ("methods", "progress"),
    "tables": ("rows", "progress", "extras"),
    "review": ("tables", "evaluate"),
    "learners": ("engine",),
    "model": ("learners", "tables"),
    "estimator": ("model",),
    "fitting": ("estimator", "review"),
    "report": ("fitting",),
    "data": ("noise", "tables"),
    "study": ("data", "report"),
    "cli": ("study", "interrupts"),
}
"""Folder -> the folders it stands on; what those stand on may be imported too."""
OUTSIDE = ("_moved", "split", "experiment")
"""Old names, for one release: they forward to wherever a name is now."""
WITHOUT_TORCH = ("labels", "progress", "rows", "noise", "evaluate", "tables", "review", "data")
"""Folders that never compute with torch; the others take it from ``extras``, loaded late."""
SHARED_BY_METHODS = ("base", "space")
NOT_A_METHOD = (*SHARED_BY_METHODS, "__init__", "registry")

MODULE_LINES, FUNCTION_LINES, METHOD_FILE_LINES = 400, 40, 150


def sources():
    """(dotted name, source) of every module, ``alignset.data`` for its ``__init__``."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        yield pytest.param(name, path.read_text(encoding="utf-8"), id=name)


each_module = pytest.mark.parametrize(("name", "source"), list(sources()))


parse = functools.cache(ast.parse)
"""Every guard looks at the same trees, and none changes them."""


def layer_of(name):
    """``alignset.data.adult`` -> ``data``; None for the package itself."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else None


# layers


DOTTED = re.compile(r"alignset(\.\w+)+")


def docstrings(tree):
    """The string nodes that are documentation: a module may be named in them."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def imports(name, source):
    """Every module imported anywhere in a source, deferred and type-checking imports included.

    A string that is the dotted name of a module counts: ``import_module`` takes such strings.
    """
    package, tree = name.split("."), parse(source)
    prose = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "alignset":
                yield from (f"alignset.{alias.name}" for alias in node.names)
            else:
                yield module
        elif isinstance(node, ast.Constant) and id(node) not in prose:
            found = DOTTED.fullmatch(str(node.value).rstrip("."))
            yield from [found[0]] if found else []


def reach(folder):
    """The folders that a folder stands on, directly or not, and itself."""
    below = {folder}
    for other in GRAPH[folder]:
        below |= reach(other)
    return below


def wrong_way_imports(name, source):
    here = layer_of(name)
    if here is None or here in OUTSIDE:
        return []
    assert here in GRAPH, f"{name} belongs to no folder of ARCHITECTURE section 1"
    complaints = []
    for module in imports(name, source):
        there = layer_of(module) if module.split(".")[0] == "alignset" else here
        if module == "alignset._moved":
            continue
        if module == "alignset" or there not in GRAPH:
            complaints.append(f"{name} imports {module} through the package")
        elif there not in reach(here):
            complaints.append(f"{name} imports {module}, which it does not stand on")
    return complaints


@each_module
def test_a_folder_imports_only_what_it_stands_on(name, source):
    assert not wrong_way_imports(name, source)


@pytest.mark.parametrize(
    "offence",
    [
        "from alignset.engine import Trainer",
        "import alignset.engine.trainer",
        "def f():\n    from alignset.engine import Trainer",
        "if TYPE_CHECKING:\n    from alignset.cli import main",
        "from alignset import Problem",
        "from ..engine import Trainer",
        "import alignset",
        'import_module("alignset.model.folder").save(self)',
        'HOME = {"fit": "alignset.cli.fit"}',
        'import_module(f"alignset.engine.{name}")',
        "from alignset.noise import flip_uniform",
    ],
)
def test_an_import_to_the_right_is_caught(offence):
    assert wrong_way_imports("alignset.methods.mine", offence)
    assert not wrong_way_imports("alignset.methods.mine", "from alignset.stack import MLP")
    assert not wrong_way_imports("alignset.methods.mine", "from .base import Method")
    assert not wrong_way_imports("alignset.methods.mine", 'def f():\n    "alignset.engine.search"')


def test_the_graph_has_no_cycle_and_names_every_folder():
    assert all(folder not in reach(other) for folder in GRAPH for other in GRAPH[folder])
    folders = {path.stem for path in ROOT.iterdir() if not path.name.startswith(("__", "py."))}
    assert folders == {*GRAPH, *OUTSIDE}


def for_types_only(tree):
    """The nodes under ``if TYPE_CHECKING``, which never run."""
    return {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and dotted(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(ast.Module(node.body, []))
    }


def torch_imports(name, source):
    """Torch by its own name; and, in folders that do not compute with it, torch at all."""
    tree, outside = parse(source), layer_of(name) in WITHOUT_TORCH
    unused, found = for_types_only(tree), []
    for node in ast.walk(tree):
        late, own = False, []
        if isinstance(node, ast.Import):
            own = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            own = [str(node.module)]
            late = node.module == "alignset.extras" and "torch" in [a.name for a in node.names]
        itself = any(module.split(".")[0] == "torch" for module in own)
        if (itself and (outside or id(node) not in unused)) or (late and outside):
            found.append(f"{name} imports torch")
    return found


@each_module
def test_torch_is_taken_from_one_place_and_only_where_it_computes(name, source):
    assert not torch_imports(name, source)


def test_torch_in_the_wrong_place_is_caught():
    late, typed = "from alignset.extras import torch", "if TYPE_CHECKING:\n    from torch import nn"
    for offence in ("import torch", "def f():\n    from torch import nn", "import torch.nn"):
        assert torch_imports("alignset.noise.mine", offence)
        assert torch_imports("alignset.stack.mine", offence)
    for offence in (late, typed):
        assert torch_imports("alignset.noise.mine", offence)
        assert not torch_imports("alignset.stack.mine", offence)
    assert not torch_imports("alignset.stack.mine", "from alignset.stack.kernels import torch")


def foreign_code(name, source):
    """Who calls C or Triton: the kernels alone, so that the rest has one way to compute.

    ``tables.exchange`` asks the operating system for the one call that Python does not offer.
    """
    if name.startswith("alignset.stack.kernels") or name == "alignset.tables.exchange":
        return []
    found = {module.split(".")[0] for module in imports(name, source)} & {"ctypes", "triton"}
    return [f"{name} imports {module}" for module in sorted(found)]


@each_module
def test_only_kernels_know_c_and_triton(name, source):
    assert not foreign_code(name, source)


@pytest.mark.parametrize(
    "offence", ["import ctypes", "from ctypes import CDLL", "def f():\n    import triton.language"]
)
def test_foreign_code_outside_the_kernels_is_caught(offence):
    assert foreign_code("alignset.stack.adam", offence)
    assert foreign_code("alignset.engine.mine", offence)
    assert not foreign_code("alignset.stack.kernels.c", offence)
    assert not foreign_code("alignset.stack.mine", "from alignset.stack.kernels import triton")


def neighbouring_methods(name, source):
    parts = name.split(".")
    if parts[1:2] != ["methods"] or len(parts) < 3 or parts[2] in NOT_A_METHOD:
        return []
    own = [m.split(".") for m in imports(name, source) if m.startswith("alignset.methods")]
    return [
        f"{name} imports {'.'.join(m)}"
        for m in own
        if m[2:3] not in [[s] for s in SHARED_BY_METHODS]
    ]


@each_module
def test_a_method_knows_no_other_method(name, source):
    assert not neighbouring_methods(name, source)


def test_a_method_that_knows_another_is_caught():
    for offence in ("from alignset.methods.standard import Standard", "from .standard import x",
                    "from alignset.methods import Standard"):  # fmt: skip
        assert neighbouring_methods("alignset.methods.mine", offence)
    fine = "from alignset.methods.base import Method\nfrom alignset.methods.space import Space"
    assert not neighbouring_methods("alignset.methods.mine", fine)


def typed_names_that_run(name, source):
    """Names imported for types alone, used where they would have to be there."""
    tree = parse(source)
    unused, hints, local = for_types_only(tree), set(), set()
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            into = names.setdefault if id(node) in unused else lambda key, _: local.add(key)
            for alias in node.names:
                into(alias.asname or alias.name, node)
        for hint in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            hints |= {id(inner) for inner in ast.walk(hint)} if hint else set()
    return [
        f"{name} line {node.lineno} uses {node.id}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in names and node.id not in local
        if id(node) not in hints and isinstance(node.ctx, ast.Load)
    ]


@each_module
def test_a_name_for_types_is_not_used_when_code_runs(name, source):
    assert not typed_names_that_run(name, source)


def test_a_name_for_types_that_runs_is_caught():
    start = "if TYPE_CHECKING:\n    from torch import Tensor\n"
    assert typed_names_that_run("m", start + "def f():\n    return Tensor.clone")
    assert not typed_names_that_run("m", start + "def f(x: Tensor) -> list[Tensor]: ...")
    assert not typed_names_that_run(
        "m", start + "def f():\n    from torch import Tensor\n    Tensor"
    )


# sizes


def docstring_lines(node):
    """Number of lines a node's docstring takes."""
    first = node.body[0] if node.body else None
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    if not (is_text and isinstance(first.value.value, str)):
        return 0
    return first.end_lineno - first.lineno + 1


def long_module(name, source):
    """Physical lines of the file, everything counted."""
    n = len(source.splitlines())
    return [f"{name} has {n} lines"] if n > MODULE_LINES else []


def long_functions(name, source):
    """Lines from ``def`` to the last statement, signature and comments included.

    The docstring, blank lines and decorators do not count.
    """
    complaints, lines = [], source.splitlines()
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[0].lineno + docstring_lines(node) - 1
            text = lines[node.lineno - 1 : node.body[0].lineno - 1] + lines[body : node.end_lineno]
            n = sum(bool(line.strip()) for line in text)
            if n > FUNCTION_LINES:
                complaints.append(f"{name}.{node.name} has {n} lines")
    return complaints


def code_lines(source):
    """Lines of a file without docstrings, comments and blank lines."""
    tree = parse(source)
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    prose = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and docstring_lines(node):
            prose |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(
        i not in prose and bool(line.strip()) and not line.strip().startswith("#")
        for i, line in lines
    )


def long_method_file(name, source):
    parts = name.split(".")
    if parts[1:2] != ["methods"] or len(parts) < 3 or parts[2] in NOT_A_METHOD:
        return []
    n = code_lines(source)
    return [f"{name} has {n} lines of code"] if n > METHOD_FILE_LINES else []


@each_module
def test_modules_functions_and_method_files_are_short(name, source):
    assert not long_module(name, source)
    assert not long_functions(name, source)
    assert not long_method_file(name, source)


def test_long_code_is_caught():
    assert long_module("alignset.data.mine", "x = 1\n" * 401)
    assert not long_module("alignset.data.mine", "x = 1\n" * 400)
    text = '    """Say.\n\n    More.\n    """\n'
    assert long_functions("m", "def f():\n" + text + "    x = 1\n" * 40)
    assert not long_functions("m", "def f():\n" + text + "    x = 1\n\n" * 39)
    assert long_functions("m", "class A:\n    async def f(self):\n" + "        x = 1\n" * 40)
    prose = '"""Say.\n\nMore.\n"""\n\n# why\n'
    assert long_method_file("alignset.methods.mine", prose + "x = 1\n" * 151)
    assert not long_method_file("alignset.methods.mine", prose + "x = 1\n" * 150)


# docstrings


def public_objects():
    """Functions and classes named in the ``__all__`` of the package and its sub-packages."""
    found = {}
    names = ["alignset"] + [
        m.name for m in pkgutil.iter_modules(alignset.__path__, "alignset.") if m.ispkg
    ]
    for package in map(importlib.import_module, names):
        for name in getattr(package, "__all__", ()):
            thing = getattr(package, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found.setdefault(f"{thing.__module__}.{name}", thing)
    return [pytest.param(thing, id=name) for name, thing in sorted(found.items())]


def undocumented(thing):
    """No docstring, or no example; an interface or a warning cannot show one."""
    text = thing.__doc__
    if not text:
        return [f"{thing.__qualname__} has no docstring"]
    is_class = inspect.isclass(thing)
    cannot = inspect.isabstract(thing) or (is_class and issubclass(thing, Exception))
    if not cannot and ">>>" not in text:
        return [f"{thing.__qualname__} has no example"]
    return []


@pytest.mark.parametrize("thing", public_objects())
def test_a_public_object_says_what_it_does_and_shows_it(thing):
    assert not undocumented(thing)


@each_module
def test_a_module_says_what_it_is_for(name, source):
    assert ast.get_docstring(parse(source)), f"{name} has no docstring"


def test_missing_docstrings_are_caught():
    class Silent:
        pass

    class Vague:
        """Do something."""

    def shown():
        """Do something.

        >>> shown()
        """

    class Reason(UserWarning):
        """Something to act on."""

    assert undocumented(Silent) == [f"{Silent.__qualname__} has no docstring"]
    assert undocumented(Vague) == [f"{Vague.__qualname__} has no example"]
    assert not undocumented(shown)
    assert not undocumented(Reason)


# randomness and side effects

TORCH_DRAWS = {
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal",
    "bernoulli", "multinomial", "poisson", "manual_seed", "seed", "set_rng_state", "dropout",
    "default_generator", "fork_rng",
}  # fmt: skip
TENSOR_DRAWS = {"uniform_", "normal_", "bernoulli_", "random_", "exponential_", "cauchy_"}
NUMPY_FINE = {"default_rng", "Generator", "SeedSequence", "BitGenerator", "PCG64", "RandomState"}
BORROWS_THE_GENERATOR = {"alignset.stack.module"}
"""Builds a user's module under a forked generator, which is then put back."""
LEGACY_DATA = {"alignset.data.synthetic"}
"""Makes the published data set, which NumPy's legacy generator drew."""


def dotted(node):
    """``np.random.rand`` of an attribute chain, else ''."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def global_randomness(name, source):
    complaints = []
    tree = parse(source)
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    complaints += ["imports random" for module in imports(name, source) if module == "random"]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("torch", "numpy.random"):
            drawn = {a.name for a in node.names} & (TORCH_DRAWS | {"seed", "shuffle", "choice"})
            complaints += [f"imports {n} from {node.module}" for n in sorted(drawn)]
        path = dotted(node).split(".") if isinstance(node, ast.Attribute) else []
        call = calls.get(id(node))
        seeded = call is None or bool(call.args or call.keywords)
        if path[:2] in (["np", "random"], ["numpy", "random"]) and len(path) > 2:
            legacy = path[2] == "RandomState" and call is not None and name not in LEGACY_DATA
            if path[2] not in NUMPY_FINE or not seeded or legacy:
                complaints.append(".".join(path))
        if path[:1] == ["torch"] and TORCH_DRAWS & set(path) and name not in BORROWS_THE_GENERATOR:
            complaints.append(".".join(path))
        if path[:3] == ["torch", "nn", "init"] or path[:2] in (["nn", "init"], ["F", "dropout"]):
            complaints.append(".".join(path))
        if isinstance(node, ast.Attribute) and node.attr in TENSOR_DRAWS and call is not None:
            complaints.append(node.attr)
    return [f"{name}: {what}" for what in complaints]


@each_module
def test_no_global_generator_is_used(name, source):
    assert not global_randomness(name, source)


@pytest.mark.parametrize(
    "offence",
    [
        "np.random.seed(0)",
        "x = np.random.rand(3)",
        "x = numpy.random.permutation(3)",
        "rng = np.random.default_rng()",
        "rng = np.random.RandomState(0)",
        "torch.manual_seed(0)",
        "x = torch.rand(3)",
        "x = torch.randperm(3)",
        "x = torch.nn.functional.dropout(x)",
        "with torch.random.fork_rng(): pass",
        "torch.default_generator.manual_seed(0)",
        "nn.init.kaiming_uniform_(w)",
        "x.normal_()",
        "import random",
        "def f():\n    from random import choice",
        "from torch import randn",
        "from numpy.random import shuffle",
    ],
)
def test_global_randomness_is_caught(offence):
    assert global_randomness("alignset.methods.mine", offence)


def test_seeded_randomness_is_fine():
    assert not global_randomness("alignset.noise.mine", "rng = np.random.default_rng(seed)")
    assert not global_randomness("alignset.noise.mine", "isinstance(r, np.random.RandomState)")
    assert not global_randomness("alignset.data.synthetic", "r = np.random.RandomState(seed)")
    assert global_randomness("alignset.data.synthetic", "r = np.random.RandomState()")
    assert not global_randomness("alignset.methods.mine", "noise = b.draw.normal(k)")


def prints(name, source):
    if layer_of(name) == "cli":
        return []
    calls = [n for n in ast.walk(parse(source)) if isinstance(n, ast.Call)]
    talk = {"print", "pprint", "sys.stdout.write", "sys.stderr.write"}
    return [f"{name} line {n.lineno}" for n in calls if dotted(n.func) in talk]


@each_module
def test_only_the_command_line_prints(name, source):
    assert not prints(name, source)


def test_a_print_is_caught():
    assert prints("alignset.engine.mine", "def f():\n    print(1)")
    assert prints("alignset.engine.mine", "sys.stdout.write('x')")
    assert not prints("alignset.cli.data", "print(1)")


WATCHED = """
import random, sys, threading
before = random.getstate()
{imports}
import alignset
assert "torch" not in sys.modules, "torch was imported"
assert threading.active_count() == 1, "a thread was started"
assert random.getstate() == before, "the global generator was touched"
"""


def run_fresh(imports):
    """Run imports in a fresh interpreter with warnings as errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", WATCHED.format(imports=imports)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("layers", [(), WITHOUT_TORCH], ids=["package", "lower layers"])
def test_importing_prints_nothing_starts_nothing_and_loads_no_torch(layers):
    done = run_fresh("\n".join(f"import alignset.{layer}" for layer in layers))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_folder_loads_torch():
    """joblib, which some of them import, draws a name for a folder: only torch is looked for."""
    lines = [*(f"import alignset.{folder}" for folder in GRAPH), "before = random.getstate()"]
    done = run_fresh("\n".join(lines))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("offence", "said"),
    [
        ("from alignset.extras import torch; torch.zeros", "torch was imported"),
        ("threading.Thread(target=threading.Event().wait, daemon=True).start()", "a thread was"),
        ("random.random()", "generator was touched"),
    ],
)
def test_an_import_with_side_effects_is_caught(offence, said):
    assert said in run_fresh(offence).stderr


def test_every_source_file_is_seen():
    seen = {param.values[0] for param in sources()}
    assert {"alignset", "alignset.labels", "alignset.methods.alignment"} <= seen
