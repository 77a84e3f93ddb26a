"""installed_test.py - the files for a node in share/: each is read by the program that it is for, and names what there is."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402
import figures_test  # noqa: E402
import gpus_test  # noqa: E402
import monitoring  # noqa: E402
import prometheus_test  # noqa: E402
from monitoring import Monitor, samples, until  # noqa: E402

SHARE = os.path.join(HERE, "..", "..", "share")


def queries():
    """{title of a panel: its queries}."""
    with open(os.path.join(SHARE, "grafana.json"), encoding="utf-8") as file:
        board = json.load(file)
    return {panel["title"]: [target["expr"] for target in panel["targets"]] for panel in board["panels"] if panel["type"] != "row"}


class Installed(cli.Case):
    program, want = figures_test.Figures.program, gpus_test.Gpus.want

    def devices(self):
        """The environment in which there are devices, and a folder."""
        self.announced, self.now = self.path("announced"), self.path("now")
        os.mkdir(self.announced, 0o700)
        self.want("")
        with open(self.path("data"), "wb") as file:
            subprocess.run(["zstd", "-dc", gpus_test.DATA], check=True, stdout=file)
        return {"SONDE_TEST_NVML": self.path("data"), "SONDE_TEST_NVML_NOW": self.now, "LD_LIBRARY_PATH": gpus_test.STAND_IN}

    def test_the_dashboard_asks_for_what_is_served(self):
        """Names, and labels that are compared, are those of a monitor with programs, devices and a store."""
        if not monitoring.text_string_to_metric_families:
            self.skipTest(monitoring.WHY)
        env = self.devices()
        p, _ = self.program(state=1)
        p.write(self.announced)
        with Monitor(self.announced, "--csv", self.path("csv"), env=env) as monitor:
            text = until(lambda: "sonde_gpm_sm_active_seconds_total{" in (now := monitor.looked()) and now, "values of devices")
        found = samples(text)
        served = {name + ("_total" if kind == "counter" else "") for name, kind in re.findall(r"^# TYPE (\S+) (\w+)$", text, re.M)}
        labels = {name: {label for key in series for label, _ in key} | {"instance"} for name, series in found.items()}
        asked = [(title, name, chosen) for title, some in queries().items() for query in some
                 for name, chosen in re.findall(r"\b(sonde_\w+)\{([^}]*)\}", query)]
        self.assertGreater(len(asked), 30)
        self.assertEqual(sum(len(re.findall(r"\bsonde_\w+", query)) for some in queries().values() for query in some), len(asked))
        for title, name, chosen in asked:
            self.assertIn(name, served, title)
            if name != "sonde_nvml_nvlink_errors_total":  # which the recorded devices do not tell
                self.assertLessEqual(set(re.findall(r"(\w+)=", chosen.replace("!=", "="))), labels[name], title)

    def test_prometheus_reads_the_queries(self):
        programs = prometheus_test.found()
        if not programs:
            self.skipTest("prometheus is missing, and apt-get cannot fetch it")
        every = [query.replace("$__rate_interval", "1m") for some in queries().values() for query in some]
        rules = {"groups": [{"name": "board", "rules": [{"record": f"q{i}", "expr": query} for i, query in enumerate(every)]}]}
        with open(self.path("rules.json"), "w", encoding="utf-8") as file:
            json.dump(rules, file)  # JSON is YAML
        done = subprocess.run([os.path.join(programs, "promtool"), "check", "rules", self.path("rules.json")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(every)} rules found", done.stdout)

    def test_the_configuration(self):
        path = os.path.join(SHARE, "monitor.toml")
        self.assertEqual(cli.run("monitor", "--check", "--config", path).returncode, 0)
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"^# (?=[a-z-]+ = )", "", file.read(), flags=re.M)
        self.assertEqual(len(re.findall(r"^[a-z-]+ = ", text, re.M)), 11)
        with open(self.path("all.toml"), "w", encoding="utf-8") as file:
            file.write(text)
        done = cli.run("monitor", "--check", "--config", self.path("all.toml"))
        self.assertEqual((done.returncode, done.err), (0, ""))

    def test_the_unit(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is missing (systemd)")
        with open(os.path.join(SHARE, "sonde-monitor@.service"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("\nExecStart=sonde monitor ", text)
        path = self.path("sonde-monitor@root.service")
        with open(path, "w", encoding="utf-8") as file:  # this build's; of manual pages systemd asks man
            file.write(re.sub(r"^Documentation=.*\n", "", text.replace("ExecStart=sonde ", f"ExecStart={cli.SONDE} "), flags=re.M))
        done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)
        ours = [line for line in done.stderr.splitlines() if "sonde-monitor" in line]
        self.assertEqual((done.returncode, ours), (0, []), done.stderr)


if __name__ == "__main__":
    unittest.main()
