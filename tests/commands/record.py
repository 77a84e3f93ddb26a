"""`sonde record` as the program and the shell see it: status, signals, folder, messages. No GPU call is made."""
import ctypes
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
import unittest

from common import InFolder, SONDE, STATE, main, run


def sh(script, *options, **more):
    return run("record", *options, "--", "sh", "-c", script, **more)


def fake_measurement(path):
    os.makedirs(path + "/host-1-1")
    with open(path + "/manifest.json", "w") as file:
        json.dump({"format": "sonde"}, file)
    with open(path + "/host-1-1/data.sonde", "w") as file:
        file.write("old")


class Status(InFolder):
    def test_exit_status(self):
        for status in (0, 1, 7, 125, 255):
            self.assertEqual(sh(f"exit {status}").returncode, status)

    def test_death_by_signal(self):
        for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGINT, signal.SIGRTMIN + 1):
            self.assertEqual(sh(f"kill -{int(number)} $$").returncode, -number)
        self.assertEqual(os.listdir("."), [])

    def test_missing_program(self):
        for name in ("no-such-program", "./no-such-program", "/no/such/program", ""):
            r = run("record", "--", name)
            self.assertEqual(r.returncode, 127)
            self.assertOneLine(r.stderr)
            self.assertIn(name or "''", r.stderr)
        self.assertEqual(os.listdir("."), [])

    def test_not_executable(self):
        with open("plain", "w") as file:
            file.write("echo hello\n")
        for name in ("./plain", "/", "."):
            r = run("record", "--", name)
            self.assertEqual(r.returncode, 126 if name != "." else r.returncode)
            self.assertOneLine(r.stderr)
        self.assertEqual(os.listdir("."), ["plain"])

    def test_path_is_searched_as_a_shell_does(self):
        os.makedirs("first")
        os.makedirs("second")
        for folder, mode in (("first", 0o644), ("second", 0o755)):
            with open(folder + "/tool", "w") as file:
                file.write(f"#!/bin/sh\necho {folder}\n")
            os.chmod(folder + "/tool", mode)
        environment = dict(os.environ, PATH=f"{self.folder}/first:{self.folder}/second:{os.environ['PATH']}")
        self.assertEqual(run("record", "tool", env=environment).stdout, "second\n")
        environment["PATH"] = f"{self.folder}/first"
        self.assertEqual(run("record", "tool", env=environment).returncode, 126)

    def test_script_without_interpreter_line(self):
        with open("script", "w") as file:
            file.write('echo "$1-$2"\n')
        os.chmod("script", 0o755)
        self.assertEqual(run("record", "./script", "a", "b c").stdout, "a-b c\n")

    def test_interpreter_that_does_not_exist(self):
        with open("script", "w") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod("script", 0o755)
        r = run("record", "./script")
        self.assertEqual(r.returncode, 127)
        self.assertOneLine(r.stderr)
        self.assertEqual(os.listdir("."), ["script"])


class Options(InFolder):
    def test_usage_errors(self):
        for arguments in ([], ["--no-such-option", "true"], ["--memory", "much", "true"], ["--memory"], ["--memory", "7M", "true"], ["-x", "true"],
                          ["--duration", "3 parsecs", "true"], ["--streams-per-thread", "0", "true"], ["--profile=1", "true"]):
            r = run("record", *arguments)
            self.assertEqual(r.returncode, 2, arguments)
            self.assertOneLine(r.stderr)
            self.assertEqual(r.stdout, "")

    def test_memory_has_a_least(self):
        r = run("record", "--memory", "8388607", "true")
        self.assertEqual(r.returncode, 2)
        self.assertIn("--memory needs at least 8M, not '8388607'", r.stderr)
        self.assertEqual(os.listdir("."), ["script"] if os.path.exists("script") else [])

    def test_the_programs_own_options_are_its_own(self):
        r = run("record", "-q", "echo", "-o", "--force", "--", "--help")
        self.assertEqual(r.stdout, "-o --force -- --help\n")

    def test_quiet(self):
        r = sh("echo out; echo err >&2", "-q")
        self.assertEqual((r.stdout, r.stderr), ("out\n", "err\n"))

    def test_program_without_gpu_gets_one_line(self):
        r = sh("echo out")
        self.assertEqual(r.stdout, "out\n")
        self.assertOneLine(r.stderr)
        self.assertIn("doctor", r.stderr)
        self.assertEqual(os.listdir("."), [])

    def test_environment(self):
        r = sh("env", "-q", "--profile", "--memory", "8M", "--delay", "1.5s", "--duration", "2m", "--max-size", "1k",
               "--streams-per-thread", "3", "--values=all", "--values-blocks", "1/16", "--values-memory", "4k", "--values-host-memory", "8k", "--values-sample", "2/40", "--kernel", "a*,b", "--start-off", "--check", "--no-python",
               env=dict(os.environ, OPENCL_LAYERS="/mine/a.so:/mine/b.so", LD_PRELOAD=""))
        seen = dict(line.split("=", 1) for line in r.stdout.splitlines() if "=" in line)
        agent = seen["SONDE_AGENT"]
        self.assertTrue(os.path.isabs(agent) and os.path.exists(agent), agent)
        self.assertEqual(seen["OPENCL_LAYERS"], agent + ":/mine/a.so:/mine/b.so")
        self.assertTrue(seen["LD_PRELOAD"].endswith("/libsonde-preload.so"))
        self.assertEqual(seen["SONDE_OUT"], os.path.realpath(self.folder) + "/sh.sonde")
        wanted = {"SONDE_TRACE": "0", "SONDE_MEMORY": str(8 << 20), "SONDE_DELAY_MS": "1500", "SONDE_DURATION_MS": "120000",
                  "SONDE_MAX_SIZE": "1024", "SONDE_VALUES": "3", "SONDE_VALUES_BLOCKS": "16", "SONDE_VALUES_MEMORY": "4096", "SONDE_VALUES_HOST_MEMORY": "8192", "SONDE_VALUES_FIRST": "2", "SONDE_VALUES_OF": "40", "SONDE_VALUES_KERNEL": "a*,b", "SONDE_STREAMS_PER_THREAD": "3", "SONDE_START_OFF": "1", "SONDE_CHECK": "1",
                  "SONDE_PYTHON": "0"}
        self.assertEqual({key: seen[key] for key in wanted}, wanted)
        self.assertNotIn("LD_PRELOAD", sh("env", "-q", "--no-preload",
                                          env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}).stdout)

    def test_own_variables_that_the_user_has_set(self):
        r = sh("echo $SONDE_MEMORY", env=dict(os.environ, SONDE_MEMORY="1", SONDE_CHECK="1", SONDE_MINE="1"))
        self.assertEqual(r.stdout, f"{256 << 20}\n")
        self.assertEqual(r.stderr.count("\n"), 2)
        said = r.stderr.split("\n")[0]
        self.assertIn("SONDE_MEMORY", said)
        self.assertIn("SONDE_CHECK", said)
        self.assertIn("ignoring", said)
        self.assertNotIn("SONDE_MINE", said)
        self.assertOneLine(run("record", "-q", "--", SONDE, "record", "true").stderr) # its own are no user's

    def test_every_variable_that_record_sets(self):
        """Whatever the user has put into one of them is replaced, and he is told."""
        options = ("--capture-range", "cuda")  # with it all of them are set
        seen = {line.split("=", 1)[0] for line in sh("env", "-q", *options).stdout.splitlines() if line.startswith("SONDE_")}
        self.assertGreater(len(seen), 12)
        for name in sorted(seen):
            r = sh('echo "value:$%s"' % name, *options, env=dict(os.environ, **{name: "mine"}))
            self.assertNotIn("value:mine\n", r.stdout, name)
            if name != "SONDE_AGENT":  # that one says: within another recording, whose variables they are
                self.assertIn("ignoring %s from the environment" % name, r.stderr)

    def test_recording_inside_a_recording(self):
        r = run("record", "-q", "--", SONDE, "record", "-q", "-o", "inner", "sh", "-c", "echo $OPENCL_LAYERS; echo $SONDE_OUT")
        layers, output = r.stdout.splitlines()
        self.assertEqual(layers.count("libsonde-agent.so"), 1)
        self.assertTrue(output.endswith("/inner"))


class Folder(InFolder):
    def where(self, *options, name="x.sonde"):
        r = sh("echo $SONDE_OUT", "-q", "-o", name, *options)
        self.assertEqual(r.returncode, 0, r.stderr)
        return os.path.relpath(r.stdout.strip(), os.path.realpath(self.folder))

    def test_a_new_number(self):
        fake_measurement("x.sonde")
        self.assertEqual(self.where(), "x-2.sonde")
        os.mkdir("x-2.sonde")
        self.assertEqual(self.where(), "x-3.sonde")
        with open("plain", "w"):
            pass
        self.assertEqual(self.where(name="plain"), "plain-2")
        with open("x.sonde/host-1-1/data.sonde") as file:
            self.assertEqual(file.read(), "old")

    def test_default_name(self):
        self.assertIn("/sh.sonde\n", run("record", "-q", "/bin/sh", "-c", "echo $SONDE_OUT").stdout)

    def test_force_replaces_a_measurement(self):
        fake_measurement("x.sonde")
        self.assertEqual(self.where("--force"), "x.sonde")
        self.assertFalse(os.path.exists("x.sonde/host-1-1"))

    def test_force_spares_everything_else(self):
        fake_measurement("mixed.sonde")
        with open("mixed.sonde/thesis.txt", "w") as file:
            file.write("years of work")
        fake_measurement("deep.sonde")
        os.mkdir("deep.sonde/host-1-1/photos")
        os.mkdir("empty.sonde")
        os.mkdir("other.sonde")
        with open("other.sonde/manifest.json", "w") as file:
            file.write('{"name": "a web application"}')
        fake_measurement("target")
        os.symlink("target", "link.sonde")
        with open("file.sonde", "w") as file:
            file.write("text")
        before = sorted((root, dirs, files) for root, dirs, files in os.walk("."))
        for name in ("mixed.sonde", "deep.sonde", "empty.sonde", "other.sonde", "link.sonde", "file.sonde"):
            r = sh("true", "--force", "-o", name)
            self.assertEqual(r.returncode, 125, name)
            self.assertOneLine(r.stderr)
            self.assertIn(name, r.stderr)
        self.assertEqual(sorted((root, dirs, files) for root, dirs, files in os.walk(".")), before)

    def waiting(self, *options):
        """A recording whose program waits for a line."""
        r = subprocess.Popen([SONDE, "record", *options, "--", "sh", "-c", 'echo "$SONDE_OUT"; read line'],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (r.kill(), r.communicate()))
        r.stdout.readline()
        return r

    def test_force_spares_what_another_record_writes(self):
        first = self.waiting("-o", "x.sonde")
        inode = os.stat("x.sonde").st_ino
        second = sh("echo started", "--force", "-o", "x.sonde")
        self.assertEqual((second.returncode, second.stdout), (125, ""))
        self.assertOneLine(second.stderr)
        self.assertIn("another sonde record is writing it", second.stderr)
        self.assertEqual(os.stat("x.sonde").st_ino, inode)
        self.assertEqual(os.listdir("x.sonde"), ["manifest.json"])
        first.kill() # the kernel gives its lock back; its program has ended
        first.communicate()
        self.assertEqual(self.where("--force"), "x.sonde")

    def test_force_spares_what_a_process_still_writes(self):
        fake_measurement("x.sonde")
        folder = os.path.realpath("x.sonde")
        writer = subprocess.Popen(["sleep", "3000"], env=dict(os.environ, SONDE_OUT=folder))
        self.addCleanup(lambda: (writer.kill(), writer.wait()))
        os.mkdir(f"x.sonde/host-{writer.pid}-1")
        with open(f"x.sonde/host-{writer.pid}-1/live.sonde", "w"):
            pass
        r = sh("true", "--force", "-o", "x.sonde")
        self.assertEqual(r.returncode, 125)
        self.assertIn(f"process {writer.pid}, which it records, still runs", r.stderr)
        self.assertTrue(os.path.exists("x.sonde/host-1-1/data.sonde"))
        writer.kill()
        writer.wait()
        self.assertEqual(self.where("--force"), "x.sonde")

    def test_a_folder_that_went_away_meanwhile(self):
        for replaced in (False, True):
            first = self.waiting("-o", "x.sonde")
            subprocess.run(["rm", "-r", "x.sonde"], check=True)
            if replaced: # what is there now is somebody else's
                fake_measurement("x.sonde")
            before = sorted((root, dirs, files) for root, dirs, files in os.walk("."))
            _, said = first.communicate("\n")
            self.assertEqual(first.returncode, 125)
            self.assertOneLine(said)
            self.assertIn("removed or renamed while the program ran", said)
            self.assertEqual(sorted((root, dirs, files) for root, dirs, files in os.walk(".")), before)
        r = sh('rm -r "$SONDE_OUT"; exit 7')
        self.assertEqual(r.returncode, 7)

    def test_force_replaces_what_a_killed_record_began(self):
        whole = '{\n  "format": "sonde"'
        for left in ({".probe": bytes(4096)}, {".probe": b""}, {"manifest.json.tmp": b""},
                     {"manifest.json.tmp": whole[:9].encode()}, {"manifest.json.tmp": (whole + ",").encode()}):
            os.mkdir("x.sonde")
            for name, content in left.items():
                with open("x.sonde/" + name, "wb") as file:
                    file.write(content)
            self.assertEqual(self.where("--force"), "x.sonde")
        for name, content in ((".probe", b"mine"), ("manifest.json.tmp", b'{"name": 1}')):
            os.mkdir("other.sonde")
            with open("other.sonde/" + name, "wb") as file:
                file.write(content)
            self.assertEqual(sh("true", "--force", "-o", "other.sonde").returncode, 125)
            with open("other.sonde/" + name, "rb") as file:
                self.assertEqual(file.read(), content)
            os.remove("other.sonde/" + name)
            os.rmdir("other.sonde")

    def test_impossible_folder(self):
        with open("file", "w"):
            pass
        for name in ("no/such/folder", "file/x", "/proc/x.sonde", "x" * 300, ""):
            r = sh("echo started", "-o", name)
            self.assertEqual(r.returncode, 125, name)
            self.assertEqual(r.stdout, "")
            self.assertOneLine(r.stderr)
        self.assertEqual(os.listdir("."), ["file"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody who may not write here")
    def test_unwritable_folder(self):
        os.chmod(self.folder, 0o755)
        r = sh("echo started", preexec_fn=lambda: os.setresuid(65534, 65534, 65534))
        self.assertEqual((r.returncode, r.stdout), (125, ""))
        self.assertOneLine(r.stderr)
        self.assertIn("sh.sonde", r.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to mount a small file system")
    def test_folder_too_small_for_a_measurement(self):
        os.mkdir("small")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", "small"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("mounting a file system is not allowed here")
        try:
            r = sh("echo started", "-o", "small/x.sonde")
            self.assertEqual((r.returncode, r.stdout), (0, "started\n"))
            self.assertOneLine(r.stderr)
            self.assertIn("not enough space", r.stderr)
            self.assertEqual(os.listdir("small"), [])
        finally:
            subprocess.run(["umount", "small"])

    def test_path_too_long_for_a_measurement(self):
        for _ in range(15):
            os.mkdir("d" * 250)
            os.chdir("d" * 250)
        r = sh("echo started", "-o", "x.sonde")
        self.assertEqual((r.returncode, r.stdout), (125, ""))
        self.assertIn("too long", r.stderr)
        self.assertEqual(os.listdir("."), [])

    def test_names_do_not_break_the_line(self):
        r = run("record", "--", "./no\x1b[2J\nsuch")
        self.assertEqual(r.returncode, 127)
        self.assertOneLine(r.stderr)
        self.assertNotIn("\x1b", r.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to mount a small file system")
    def test_full_folder(self):
        os.mkdir("small")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", "small"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("mounting a file system is not allowed here")
        try:
            with open("small/fill", "wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)):
                        pass
                except OSError:
                    pass
            r = sh("echo started", "-o", "small/x.sonde")
            self.assertEqual((r.returncode, r.stdout), (125, ""))
            self.assertOneLine(r.stderr)
            self.assertIn("No space left", r.stderr)
            self.assertEqual(os.listdir("small"), ["fill"])
        finally:
            subprocess.run(["umount", "small"])

    def test_processes_that_outlive_the_program(self):
        r = sh("sleep 3000 >/dev/null 2>&1 & echo $!")
        sleeper = int(r.stdout)
        try:
            os.kill(sleeper, 0)
            self.assertOneLine(r.stderr)
            self.assertTrue(os.path.exists("sh.sonde/manifest.json"))
        finally:
            os.kill(sleeper, signal.SIGKILL)


class Manifest(InFolder):
    def test_before_the_end(self):
        environment = dict(os.environ, POCL_DEBUG="0", OMP_NUM_THREADS="2", SLURM_JWT="secret-1", OPENCL_API_TOKEN="secret-2",
                           CUDA_PROXY="https://me:secret-3@host/", MY_OWN="secret-4", OMPI_COMM_WORLD_RANK="3",
                           TF_VAR_db_pw="secret-5", NVIDIA_LOGIN="secret-6", PATHS="secret-7", OMP_NUM_THREAD="secret-8",
                           POCL_DEVICES="https://me:secret-9@host/", NCCL_="secret-10")
        r = run("record", "-q", "sh", "-c", 'cat "$SONDE_OUT/manifest.json"', "sh", "b\udcffd", env=environment)
        manifest = json.loads(r.stdout)
        self.assertEqual(manifest["format"], "sonde")
        self.assertEqual(manifest["command"][:2], ["sh", "-c"])
        self.assertEqual(manifest["command"][-1], "b\ufffdd")
        self.assertEqual(manifest["working_directory"], os.path.realpath(self.folder))
        self.assertEqual(manifest["environment"]["POCL_DEBUG"], "0")
        self.assertEqual(manifest["environment"]["OMP_NUM_THREADS"], "2")
        self.assertNotIn("secret", json.dumps(manifest["environment"]))
        self.assertEqual(manifest["ranks"]["rank"], 3)
        self.assertEqual(manifest["host"]["name"], os.uname().nodename)
        pair = manifest["clock_pairs"][0]
        self.assertLess(abs(pair["realtime_ns"] / 1e9 - time.time()), 3600)

    def test_without_the_command_line(self):
        script = 'cat "$SONDE_OUT/manifest.json"'
        r = run("record", "-q", "--no-command-line", "sh", "-c", script, "sh", "--password=secret")
        manifest = json.loads(r.stdout)
        self.assertEqual(manifest["command"], ["sh"])
        self.assertFalse(manifest["options"]["command_line"])
        self.assertNotIn("secret", r.stdout)
        self.assertTrue(json.loads(run("record", "-q", "sh", "-c", script).stdout)["options"]["command_line"])

    def test_private_whatever_the_umask(self):
        for mask in (0, 0o22, 0o777):
            r = sh('cd "$SONDE_OUT"; stat -c "%a %n" . *', "-q", preexec_fn=lambda: os.umask(mask))
            self.assertEqual(r.stdout, "700 .\n600 manifest.json\n")

    def test_private_with_a_program_that_uses_the_device(self):
        """Under umask 0777 only root's PoCL can read its own cache."""
        program = os.path.join(os.environ["BUILD"], "bin", "examples", "vector_add")
        if not os.access(program, os.X_OK) or subprocess.run([program], capture_output=True).returncode:
            self.skipTest("no OpenCL device here, or the examples are not built")
        for mask in (0, 0o22) if os.geteuid() else (0, 0o22, 0o777):
            r = run("record", "-f", "-o", "x.sonde", "--", program, preexec_fn=lambda: os.umask(mask),
                    env=dict(os.environ, POCL_CACHE_DIR=os.path.join(self.folder, f"cache-{mask}")))
            self.assertEqual(r.returncode, 0, r.stderr)
            found = []
            for folder, _, files in os.walk("x.sonde"):
                self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700, (folder, oct(mask)))
                for name in files:
                    self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o600, (name, oct(mask)))
                found += files
            self.assertEqual(sorted(found), ["data.sonde", "manifest.json"])

    def test_a_umask_that_takes_the_owners_rights(self):
        """Not as root, whom they do not bind."""
        def nobody():
            os.umask(0o777)
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
        os.chmod(self.folder, 0o777)
        try:
            run("--version", preexec_fn=nobody).check_returncode()
        except (OSError, subprocess.SubprocessError):
            self.skipTest("another user cannot run sonde here")
        r = sh('cd "$SONDE_OUT"; stat -c "%a %n" . *; exit 3', preexec_fn=nobody)
        self.assertEqual((r.returncode, r.stdout), (3, "700 .\n600 manifest.json\n"), r.stderr)

    def test_after_the_end(self):
        r = sh("sleep 3000 >/dev/null 2>&1 & echo $!; exit 5")
        os.kill(int(r.stdout), signal.SIGKILL)
        with open("sh.sonde/manifest.json") as file:
            manifest = json.load(file)
        self.assertEqual(manifest["exit"], {"status": 5})
        self.assertEqual(len(manifest["clock_pairs"]), 2)
        self.assertLess(manifest["start_ns"], manifest["end_ns"])


class Guest(InFolder):
    """What the program inherits and receives is what it would without us."""

    def state(self, prefix, **options):
        return subprocess.run([*prefix, STATE, "a", "b c", ""], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options).stdout

    def compare(self, **options):
        without = self.state([], **options)
        self.assertIn("limit", without)
        self.assertEqual(self.state([SONDE, "record", "-q", "--"], **options), without)

    def test_plain(self):
        self.compare()

    def test_signals_ignored_and_blocked(self):
        def prepare():
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD})
        self.compare(preexec_fn=prepare, restore_signals=False)

    def test_descriptors(self):
        with open("file", "w+") as file:
            file.write("hello")
            file.flush()
            os.dup2(file.fileno(), 77)
            self.compare(pass_fds=(77,))
            os.close(77)

    def test_closed_standard_descriptors(self):
        for closed in ((0,), (2,), (0, 2)):
            def prepare(which=closed):
                for fd in which:
                    os.close(fd)
            self.compare(preexec_fn=prepare)

    def test_limits(self):
        import resource
        def prepare():
            resource.setrlimit(resource.RLIMIT_NOFILE, (20, 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 8 << 20))
            os.umask(0o27)
        self.compare(preexec_fn=prepare)

    def test_standard_input_reaches_the_program(self):
        r = subprocess.run([SONDE, "record", "-q", "cat"], input=b"a\0b" * 100000, stdout=subprocess.PIPE)
        self.assertEqual(r.stdout, b"a\0b" * 100000)


    def test_every_function_of_the_exec_family(self):
        r = subprocess.run([SONDE, "record", "-q", "--", sys.executable, "-c", EXECS], stdout=subprocess.PIPE, text=True)
        self.assertEqual(r.stdout.split(), ["execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "fexecve"])


# Each in a child, as the program would find it; what was interposed must find the real one behind it.
EXECS = r"""
import ctypes, os
c, path = ctypes.CDLL(None, use_errno=True), b"/bin/echo"
def child(name, *arguments):
    if os.fork() == 0:
        getattr(c, name)(*arguments)
        print(name, os.strerror(ctypes.get_errno()), flush=True)
        os._exit(1)
    os.wait()
null = ctypes.c_void_p()
def vector(name):
    return (ctypes.c_char_p * 3)(b"echo", name.encode(), None)
environment = (ctypes.c_char_p * 2)(b"PATH=/bin", None)
child("execl", path, b"echo", b"execl", null)
child("execle", path, b"echo", b"execle", null, environment)
child("execlp", b"echo", b"echo", b"execlp", null)
for name in ("execv", "execve", "execvp", "execvpe"):
    child(name, b"echo" if "p" in name else path, vector(name), *([environment] if name.endswith("e") else []))
child("fexecve", os.open(path, os.O_RDONLY), vector("fexecve"), environment)
"""

PROGRAM = r"""
import os, signal, sys, time
got = []
names = sys.argv[1].split(",")
def handler(number, frame):
    got.append(signal.Signals(number).name)
    os.write(1, (got[-1] + "\n").encode())  # not print(): the next handler may run within this one
for name in names:
    signal.signal(getattr(signal, name), handler)
print("ready", os.getpid(), flush=True)
if sys.argv[2] == "group":
    os.kill(0, signal.SIGUSR1)
    time.sleep(0.3)
    sys.exit(0)
while len(got) < len(names):
    time.sleep(0.01)  # not pause(): the last signal may come just before it
"""


class Signals(InFolder):
    def start(self, names, mode="wait"):
        process = subprocess.Popen([SONDE, "record", "-q", "--", sys.executable, "-c", PROGRAM, names, mode],
                                   stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.stdout.close)
        return process, int(process.stdout.readline().split()[1])

    def test_passed_on(self):
        names = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGWINCH"]
        process, _ = self.start(",".join(names))
        for name in names:
            process.send_signal(getattr(signal, name))
            self.assertEqual(process.stdout.readline().strip(), name)
        self.assertEqual(process.wait(600), 0)

    def test_not_doubled(self):
        process, _ = self.start("SIGUSR1", "group")
        self.assertEqual(process.stdout.read().split(), ["SIGUSR1"])
        self.assertEqual(process.wait(600), 0)

    def test_default_action(self):
        process = subprocess.Popen([SONDE, "record", "-q", "sh", "-c", "echo ready; exec sleep 3000"], stdout=subprocess.PIPE)
        process.stdout.readline()
        process.terminate()
        self.assertEqual(process.wait(600), -signal.SIGTERM)
        process.stdout.close()

    def state_of(self, pid):
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]

    def wait_state(self, pid, wanted):
        for _ in range(30000):
            if self.state_of(pid) in wanted:
                return
            time.sleep(0.01)
        self.fail(f"process {pid} is in state {self.state_of(pid)}, not {wanted}")

    def test_stop_and_continue_of_the_program_alone(self):
        process, program = self.start("SIGUSR1")
        os.kill(program, signal.SIGSTOP)
        self.wait_state(process.pid, "T")
        os.kill(program, signal.SIGCONT)
        self.wait_state(process.pid, "S")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.stdout.readline().strip(), "SIGUSR1")
        self.assertEqual(process.wait(600), 0)

    def test_stop_and_continue_of_record_alone(self):
        process, program = self.start("SIGUSR1")
        process.send_signal(signal.SIGTSTP)
        self.wait_state(program, "T" if os.getsid(program) != os.getpgid(program) else "TS")
        process.send_signal(signal.SIGCONT)
        self.wait_state(program, "S")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.stdout.readline().strip(), "SIGUSR1")
        self.assertEqual(process.wait(600), 0)


class Calibrate(InFolder):
    def test_ratio(self):
        r = run("record", "--calibrate", "--pairs", "3", "--", "sh", "-c", "echo run")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(r.stdout, "run\n" * 7)
        match = re.search(r"takes ([\d.]+) times as long.*confidence: ([\d.]+) to ([\d.]+), 3 pairs", r.stderr)
        ratio, low, high = map(float, match.groups())
        self.assertTrue(low <= ratio <= high, r.stderr)
        self.assertEqual(os.listdir("."), [])

    def test_a_program_that_fails(self):
        self.assertEqual(run("record", "--calibrate", "--pairs", "3", "--", "sh", "-c", "exit 9").returncode, 9)


if __name__ == "__main__":
    main()
