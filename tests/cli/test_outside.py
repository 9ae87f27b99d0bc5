"""What can go wrong outside of the command: disks, signals, links, writers, streams, locales, limits. The old file or the new one, never half.

Every test runs the command in a process of its own, as a shell would.
"""

import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="limits and signals of POSIX")


def command(*args, flags=(), **options):
    """The command with these arguments, as a process to wait for."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **options.pop("env", {})}
    env = {name: value for name, value in env.items() if value is not None}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, *flags, "-m", "gramian", *map(str, args)], env=env, **pipes)


def run(*args, **options):
    """What became of it: exit code, bytes of stdout, text of stderr."""
    process = command(*args, **options)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, (err or b"").decode("utf-8", "replace")


def limit(kind, size):
    resource.setrlimit(kind, (size, size))


def said_in_one_line(err):
    return "Traceback" not in err and len([line for line in err.splitlines() if "error" in line]) == 1


def nothing_left(folder):
    return not list(folder.glob(".*.part"))


@pytest.fixture
def filled(holes, tmp_path):
    """The bytes that the command writes where nothing goes wrong."""
    code, _, err = run("impute", holes, "-o", tmp_path / "right.csv", "--quiet")
    assert code == 0, err
    return (tmp_path / "right.csv").read_bytes()


def test_a_full_disk_leaves_the_old_file(holes, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")
    code, _, err = run(
        "impute", holes, "-o", out, "--force", "--quiet", preexec_fn=partial(limit, resource.RLIMIT_FSIZE, 1000)
    )
    assert code == 1
    assert said_in_one_line(err), err
    assert out.read_text() == "old"
    assert nothing_left(tmp_path)


@pytest.mark.parametrize("what", ["fit", "compare", "report", "forecast"])
def test_a_full_disk_leaves_the_old_file_whatever_is_written(what, tmp_path):
    """Tables, models and pages are written by different hands; what `impute` promises holds for all."""
    table, out = tmp_path / "t.csv", tmp_path / {"compare": "o.html", "report": "o.html"}.get(what, "o.csv")
    table.write_text("a,b\n" + "".join(f"{i % 7},{i % 5 + i % 7}\n" for i in range(30)))
    out.write_text("old")
    words = {"fit": ["-m", out, "--no-check"], "forecast": ["-o", out, "--target", "a", "--steps", "30"]}.get(
        what, ["-o", out]
    )
    code, _, err = run(what, table, *words, "--force", "--quiet", preexec_fn=partial(limit, resource.RLIMIT_FSIZE, 100))
    assert code == 1
    assert said_in_one_line(err), err
    assert out.name in err
    assert out.read_text() == "old"
    assert nothing_left(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_device_as_output_is_said(holes):
    with open("/dev/full", "wb") as full:
        code, _, err = run("impute", holes, "-o", "-", "--quiet", stdout=full)
    assert code == 1
    assert said_in_one_line(err), err


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_moment_leaves_the_old_file_or_the_new_one(kind, holes, filled, tmp_path):
    out = tmp_path / "out.csv"
    start = time.perf_counter()
    run("impute", holes, "-o", tmp_path / "timed.csv", "--quiet")
    whole = time.perf_counter() - start
    seen = set()
    for share in (0.05, 0.4, 0.7, 0.85, 0.95, 1.0, 1.05):
        out.write_bytes(b"old")
        process = command("impute", holes, "-o", out, "--force", "--quiet")
        time.sleep(share * whole)
        process.send_signal(kind)
        _, err = process.communicate(timeout=120)
        assert out.read_bytes() in (b"old", filled)
        seen.add(process.returncode)
        if kind == signal.SIGINT and process.returncode == 130:
            assert b"Traceback" not in err
            assert nothing_left(tmp_path)
    expected = {signal.SIGKILL: {-signal.SIGKILL, 0}, signal.SIGTERM: {-signal.SIGTERM, 0}}
    assert seen <= expected.get(kind, {130, 0, -signal.SIGINT, 1})


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("what", ["impute", "fit"])
def test_a_signal_while_a_file_is_written_leaves_the_old_one(what, step, kind, holes, tmp_path):
    """Sent by the write itself: before its bytes are on the disk, and before it takes its name."""
    out = tmp_path / {"impute": "out.csv", "fit": "out.gramian"}[what]
    out.write_bytes(b"old")
    words = {
        "impute": ["impute", holes, "-o", out, "--force"],
        "fit": ["fit", holes, "-m", out, "--force", "--no-check"],
    }
    script = (
        "import os, sys, time\n"
        f"os.{step} = lambda *_, **__: (os.kill(os.getpid(), {int(kind)}), time.sleep(60))\n"
        f"sys.argv = ['gramian', *{list(map(str, words[what]))}, '--quiet']\n"
        "from gramian.cli import main\n"
        "sys.exit(main())"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=120)
    assert process.returncode == (130 if kind == signal.SIGINT else -kind), err
    assert out.read_bytes() == b"old"
    assert b"Traceback" not in err
    assert kind == signal.SIGKILL or nothing_left(tmp_path)


def test_the_input_may_be_the_output(holes, filled):
    before = holes.read_bytes()
    code, _, err = run("impute", holes, "-o", holes, "--quiet")
    assert code == 1
    assert said_in_one_line(err), err
    assert holes.read_bytes() == before
    assert run("impute", holes, "-o", holes, "--force", "--quiet")[0] == 0
    assert holes.read_bytes() == filled


def test_a_link_stays_and_what_it_points_to_is_replaced(holes, filled, tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    assert run("impute", holes, "-o", tmp_path / "link.csv", "--force", "--quiet")[0] == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_bytes() == filled


def test_a_link_in_a_circle_is_one_line(holes, tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for args in (("impute", tmp_path / "a", "-o", "-"), ("impute", holes, "-o", tmp_path / "a", "--force")):
        code, _, err = run(*args, "--quiet")
        assert code == 1
        assert said_in_one_line(err), err


def test_two_writers_leave_one_whole_file(holes, filled, tmp_path):
    out = tmp_path / "out.csv"
    processes = [command("impute", holes, "-o", out, "--force", "--quiet") for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    for process in processes:
        process.communicate()
    assert out.read_bytes() == filled
    assert nothing_left(tmp_path)


def test_a_closed_stdout_is_no_traceback(holes):
    for args in (("impute", holes, "-o", "-", "--quiet"), ("--help",), ("info", holes)):
        code, _, err = run(*args, stdout=None, preexec_fn=partial(os.close, 1))
        assert "Traceback" not in err, err
        assert code in (0, 1)


SURROUNDINGS = {
    "no home": {"env": {"HOME": None, "USER": None, "XDG_CACHE_HOME": None}},
    "the locale C": {"env": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}},
    "a Turkish locale": {"env": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}},
    "a German locale": {"env": {"LC_ALL": "de_DE.UTF-8"}},
    "python -O": {"flags": ("-O",)},
    "python -OO": {"flags": ("-OO",)},
    "python -W error": {"flags": ("-W", "error")},
    "python -I": {"flags": ("-X", "utf8=0"), "env": {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu"}},
    "a small temporary folder": {"env": {"TMPDIR": "/nowhere/at/all"}},
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings_change_no_byte(name, holes, filled, tmp_path):
    code, _, err = run("impute", holes, "-o", tmp_path / "out.csv", "--quiet", **SURROUNDINGS[name])
    assert code == 0, err
    assert (tmp_path / "out.csv").read_bytes() == filled


@pytest.mark.parametrize("locale", ["C", "tr_TR.UTF-8"])
def test_names_of_columns_survive_a_locale(locale, tmp_path):
    path = tmp_path / "i.csv"
    path.write_text("İstanbul,ısı,日本\n1,2,3\n2,,5\n3,5,6\n4,6,9\n", encoding="utf-8")
    env = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code, _, err = run("impute", path, "-o", tmp_path / "o.csv", "--quiet", env=env)
    assert code == 0, err
    assert (tmp_path / "o.csv").read_text(encoding="utf-8").startswith("İstanbul,ısı,日本\n")


@pytest.mark.skipif(sys.platform != "linux", reason="a limit on address space is one of Linux")
@pytest.mark.parametrize("mebibytes", [400, 700, 1500])
def test_little_address_space_is_an_answer_or_words(mebibytes, holes, filled, tmp_path):
    """A library that cannot be loaded may end the process; it leaves no half of a file."""
    out = tmp_path / "out.csv"
    out.write_bytes(b"old")
    code, _, err = run(
        "impute", holes, "-o", out, "--force", "--quiet", preexec_fn=partial(limit, resource.RLIMIT_AS, mebibytes << 20)
    )
    assert out.read_bytes() == (filled if code == 0 else b"old")
    if code == 1:
        assert said_in_one_line(err), err


def test_a_folder_that_cannot_be_written_to_is_one_line(holes, tmp_path):
    if os.geteuid() == 0:
        target = "/proc/out.csv"  # nobody may make a file there
    else:
        (tmp_path / "shut").mkdir(mode=0o500)
        target = tmp_path / "shut" / "out.csv"
    code, _, err = run("impute", holes, "-o", target, "--quiet")
    assert code == 1
    assert said_in_one_line(err), err
