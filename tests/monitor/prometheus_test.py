"""prometheus_test.py - Prometheus itself scrapes `sonde monitor`, and promtool finds nothing wrong with what it serves."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402
import figures_test  # noqa: E402
import monitoring  # noqa: E402
from monitoring import Monitor, until  # noqa: E402

CONFIGURATION = """
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: sonde
    static_configs: [{targets: ["%s"]}]
"""


def found():
    """Folder with prometheus and promtool; None: there is none. Debian's package is unpacked, not installed: that would start its daemon."""
    if shutil.which("prometheus") and shutil.which("promtool"):
        return os.path.dirname(shutil.which("prometheus"))
    folder = os.path.join(cli.BUILD, "tests", "prometheus")
    if not os.path.exists(folder):
        with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as at:
            try:
                subprocess.run(["apt-get", "download", "-q", "prometheus"], cwd=at, check=True, capture_output=True, timeout=300)
                subprocess.run(["dpkg-deb", "-x", *os.listdir(at), "unpacked"], cwd=at, check=True, capture_output=True)
                os.rename(os.path.join(at, "unpacked"), folder)  # at once: another test may look for it, too
            except (OSError, subprocess.SubprocessError):
                return os.path.join(folder, "usr/bin") if os.path.exists(folder) else None
    return os.path.join(folder, "usr/bin")


class Prometheus(figures_test.Figures):
    def test_it_scrapes(self):
        programs = found()
        if not programs:
            self.skipTest("prometheus is missing, and apt-get cannot fetch it")
        p, did = self.program(state=1)
        p.write(self.announced)
        with monitoring.lock(os.path.join(self.announced, p.name)), Monitor(self.announced) as monitor:
            monitor.looked()
            _, headers, classic = monitor.request(headers={"Accept": "text/plain"})
            self.assertIn("version=0.0.4", headers["Content-Type"])
            checked = subprocess.run([os.path.join(programs, "promtool"), "check", "metrics"], input=classic, capture_output=True, check=False)
            self.assertEqual((checked.returncode, checked.stderr), (0, b""))
            with open(self.path("prometheus.yml"), "w", encoding="utf-8") as file:
                file.write(CONFIGURATION % monitor.url.split("/")[2])
            at = f"127.0.0.1:{cli.free_port()}"
            with open(self.path("log"), "wb") as log:
                server = subprocess.Popen([os.path.join(programs, "prometheus"), "--config.file", self.path("prometheus.yml"), "--storage.tsdb.path", self.path("data"),
                                           "--web.listen-address", at], stdout=log, stderr=log)
            try:
                def asked(query):
                    if server.poll() is not None:
                        with open(self.path("log"), encoding="utf-8") as file:
                            self.fail(f"prometheus ended: {file.read()[-2000:]}")
                    try:
                        with urllib.request.urlopen(f"http://{at}/api/v1/query?" + urllib.parse.urlencode({"query": query}), timeout=10) as answer:
                            return json.load(answer)["data"]["result"]
                    except OSError:
                        return None
                until(lambda: asked("up == 1"), "a scrape that was not too late")
                rows = until(lambda: asked("sonde_agent_operations_total"), "operations")
                self.assertEqual({(r["metric"]["device"], r["metric"]["kind"], r["metric"].get("kernel", "")): int(r["value"][1]) for r in rows},
                                 {key: len(lengths) for key, lengths in self.expected(did).items()})
                total, = until(lambda: asked("sum by (program) (sonde_agent_operation_seconds_total)"), "their time")
                self.assertAlmostEqual(float(total["value"][1]), sum(map(sum, did.values())) / 1e9, places=9)
            finally:
                server.terminate()
                server.wait(timeout=monitoring.LIMIT)


def load_tests(loader, tests, pattern):
    """This one alone: the class above is there for what its programs are made with."""
    return loader.suiteClass([Prometheus("test_it_scrapes")])


if __name__ == "__main__":
    cli.main()
