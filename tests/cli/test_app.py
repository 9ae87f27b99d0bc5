"""The command as a whole: help, exit codes, errors in one line, interrupts (CLI-01, 03, 04, 05, 08, 11, 13, 14)."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

COMMANDS = ("demo", "fit", "transform", "impute", "score", "predict", "sample", "forecast", "tune", "report", "info")
HEAVY = ("numpy", "scipy", "sklearn", "matplotlib", "pandas", "pyarrow", "jinja2")


def python(code, *args):
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"], ["--version"], ["fit", "--help"], ["report", "--help"]])
def test_help_and_version_import_nothing_heavy(args):
    code = f"""
import sys
from gramian.cli import main
try:
    main({args!r})
except SystemExit as error:
    code = error.code
heavy = [name for name in {HEAVY!r} if name in sys.modules]
print("HEAVY", heavy, "CODE", code)
"""
    ran = python(code)
    assert "HEAVY [] CODE 0" in ran.stdout
    assert ran.stderr == ""


def test_no_arguments_is_help_on_stdout(gramian):
    ran = gramian()
    assert ran.code == 0
    assert ran.out.startswith("Usage: gramian")
    assert all(f"\n  {name} " in ran.out for name in COMMANDS)
    assert ran.err == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_sub_command_has_help_with_an_example(gramian, command):
    ran = gramian(command, "--help")
    assert ran.code == 0
    assert command == "demo" or f"gramian {command} " in ran.out


def test_the_version_is_the_package_s(gramian):
    import gramian as package

    assert gramian("--version").out == f"gramian {package.__version__}\n"


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["fit"],
        ["impute", "x.csv"],
        ["fit", "x.csv", "-m", "m", "--model", "magic"],
        ["sample", "m", "-n", "0", "-o", "-"],
        ["--nonsense"],
        ["forecast", "x.csv", "--steps", "-3", "-o", "-"],
        ["score", "m", "x", "-o", "-", "--level", "1.5"],
    ],
)
def test_wrong_usage_is_exit_2(gramian, args):
    ran = gramian(*args)
    assert ran.code == 2
    assert ran.out == ""
    assert "Error" in ran.err


def one_line(ran):
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith("gramian: error: ")
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err
    return ran.err


# ---------------------------------------------------------------- CLI-03: inputs that are not tables


@pytest.mark.parametrize(
    "command",
    [["impute", "{}", "-o", "o.csv"], ["fit", "{}", "-m", "m"], ["forecast", "{}", "--steps", "3", "-o", "o.csv"]],
)
@pytest.mark.parametrize(
    "content, words",
    [
        (None, "no such file"),
        ("folder", "folder"),
        (b"", "empty"),
        (bytes(range(256)) * 9, "binary"),
        (b"a,b\n1,2\n3\n", "line 3"),
        (b"a,b\n", "no rows"),
    ],
)
def test_bad_inputs_are_one_line_with_the_path_as_given(gramian, tmp_path, command, content, words):
    path = tmp_path / "in.csv"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    ran = gramian(*(arg.format("in.csv") for arg in command))
    error = one_line(ran)
    assert "in.csv" in error
    assert str(tmp_path) not in error
    assert words in error
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_input(gramian, table):
    table.chmod(0)
    assert "Permission denied" in one_line(gramian("impute", "full.csv", "-o", "o.csv"))


@pytest.mark.parametrize(
    "command", [["transform", "m", "full.csv", "-o", "o.csv"], ["info", "m"], ["score", "m", "full.csv", "-o", "-"]]
)
def test_bad_models_are_one_line(gramian, table, tmp_path, command):
    assert "m: there is no such file" in one_line(gramian(*command))
    (tmp_path / "m").write_bytes(pickle.dumps([1, 2]))
    assert "m: pickle files are not loaded" in one_line(gramian(*command))
    (tmp_path / "m").write_text("hello")
    assert "m: the file is not a model file" in one_line(gramian(*command))


def test_a_table_of_one_row_is_an_error(gramian, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert "t.csv: 1 row(s); at least 2" in one_line(gramian("fit", "t.csv", "-m", "m"))


# ---------------------------------------------------------------- CLI-04: --debug


@pytest.mark.parametrize("args", [["--debug", "info", "nothing"], ["info", "nothing", "--debug"]])
def test_debug_shows_the_traceback(gramian, args):
    ran = gramian(*args)
    assert ran.code == 1
    assert "Traceback (most recent call last)" in ran.err
    assert "FileNotFoundError" in ran.err


# ---------------------------------------------------------------- CLI-11: outputs


def test_an_existing_output_is_kept_unless_forced(gramian, holes, tmp_path):
    (tmp_path / "o.csv").write_text("mine")
    assert "o.csv: the file exists. Pass --force" in one_line(gramian("impute", "holes.csv", "-o", "o.csv"))
    assert (tmp_path / "o.csv").read_text() == "mine"
    assert gramian("impute", "holes.csv", "-o", "o.csv", "--force").code == 0
    assert (tmp_path / "o.csv").read_text() != "mine"


def test_outputs_that_cannot_be_are_refused_before_the_work(gramian, holes, tmp_path):
    assert "does not exist" in one_line(gramian("impute", "nothing.csv", "-o", "no/o.csv"))
    assert "cannot tell the format" in one_line(gramian("impute", "nothing.csv", "-o", "o.dat"))
    assert "folder" in one_line(gramian("fit", "nothing.csv", "-m", "."))
    assert "same name" in one_line(gramian("impute", "holes.csv", "-o", "o.csv", "--std", "o.csv"))


def test_a_failing_run_leaves_the_old_output(gramian, table, tmp_path):
    (tmp_path / "o.csv").write_text("mine")
    (tmp_path / "bad.csv").write_text("a,b,c,d,e\n1,2,3,4,5\n" * 1 + "6,7,8,9\n")
    gramian("fit", "full.csv", "-m", "m")
    one_line(gramian("transform", "m", "bad.csv", "-o", "o.csv", "--force"))
    assert (tmp_path / "o.csv").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "full.csv", "m", "o.csv"]


# ---------------------------------------------------------------- CLI-13: Ctrl-C


def test_an_interrupt_is_exit_130_and_leaves_no_file(gramian, holes, tmp_path, monkeypatch):
    from gramian.io import tables

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tables.TableWriter, "write_rows", interrupt)
    before = sorted(tmp_path.iterdir())
    ran = gramian("impute", "holes.csv", "-o", "o.csv")
    assert ran.code == 130
    assert ran.out == ""
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_real_signal_is_exit_130_and_leaves_no_file(tmp_path):
    code = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a runner in the background hands down that it is ignored
from gramian.io import tables
def slow(self, columns):
    print("writing", flush=True)
    time.sleep(60)
tables.TableWriter.write = slow
from gramian.cli import main
main(["transform", "m", "t.csv", "-o", "o.csv"])
"""
    (tmp_path / "t.csv").write_text("a,b,c\n" + "\n".join(f"{i},{i * i},{-i}" for i in range(20)))
    fitted = python(
        "import sys; from gramian.cli import main; main(sys.argv[1:])",
        "fit",
        str(tmp_path / "t.csv"),
        "-m",
        str(tmp_path / "m"),
    )
    assert fitted.returncode == 0, fitted.stderr
    running = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout.readline() == "writing\n"
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "t.csv"]


# ---------------------------------------------------------------- CLI-14: pipes


def test_standard_input_and_output(gramian, holes, tmp_path):
    gramian("impute", "holes.csv", "-o", "o.csv")
    ran = gramian("impute", "-", "-o", "-", stdin=holes.read_bytes())
    assert ran.code == 0
    assert ran.out == (tmp_path / "o.csv").read_text()
    assert "missing cells filled" in ran.err  # what is said does not mix with the table


def test_there_is_no_bar_when_nobody_looks(gramian, holes):
    ran = gramian("impute", "holes.csv", "-o", "o.csv")
    assert ran.err == ""
    assert "\r" not in ran.out
    assert "\x1b" not in ran.out


def test_a_closed_pipe_is_no_traceback(tmp_path, table):
    fit = "import sys; from gramian.cli import main; main(sys.argv[1:])"
    python(fit, "fit", str(table), "-m", str(tmp_path / "m"))
    running = subprocess.Popen(
        [sys.executable, "-c", fit, "sample", str(tmp_path / "m"), "-n", "20000", "-o", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    running.stdout.readline()
    running.stdout.close()
    assert b"Traceback" not in running.stderr.read()
    running.stderr.close()
    assert running.wait(timeout=60) == 1


def test_json_is_one_object_and_nothing_else(gramian, holes):
    ran = gramian("impute", "holes.csv", "-o", "o.csv", "--json")
    facts = json.loads(ran.out)
    assert facts["imputed"] == sum(facts["by column"].values()) > 0
    ran = gramian("impute", "holes.csv", "-o", "-", "--json")
    assert ran.out.startswith("a,b,c,d,e\n")
    assert json.loads(ran.err)["imputed"] == facts["imputed"]


def test_quiet_is_quiet(gramian, holes):
    ran = gramian("impute", "holes.csv", "-o", "o.csv", "-q")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_python_m_gramian_is_the_command():
    ran = subprocess.run(
        [sys.executable, "-m", "gramian", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout.startswith("gramian ")


def test_an_unforeseen_error_is_one_line_and_says_so(gramian, holes, monkeypatch):
    from gramian.io import model_file

    def broken(*_):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(model_file, "save", broken)
    error = one_line(gramian("fit", "holes.csv", "-m", "m"))
    assert "RuntimeError: two lines" in error
    assert "--debug" in error


def test_every_command_says_json():
    from gramian.cli import main

    for name, command in main.commands.items():
        assert any("--json" in parameter.opts for parameter in command.params), name


def test_errors_are_json_too(gramian, tmp_path):
    ran = gramian("impute", "nothing.csv", "-o", "o.csv", "--json")
    assert ran.code == 1
    assert "there is no such file" in json.loads(ran.err)["error"]


def test_completion_as_json(gramian):
    facts = json.loads(gramian("completion", "bash", "--json").out)
    assert facts["shell"] == "bash"
    assert "gramian" in facts["script"]


def test_the_address_of_the_explorer_as_json(gramian, table, monkeypatch):
    from gramian.explorer import server

    def listen(self):
        self.ready(self.url)
        self.sessions.close()
        self.socket.close()

    monkeypatch.setattr(server.Server, "serve_until_stopped", listen)
    facts = json.loads(gramian("explore", "full.csv", "--no-browser", "--json").out)
    assert facts["address"].startswith("http://127.0.0.1:")
