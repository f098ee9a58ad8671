"""The author of tests in Java. The programs are compiled outside of the clean root, which has only a Java runtime."""

import shutil
import tempfile

PAGES = ("docs/start/java.md",)
# The clients and their releases.
PROJECT = "e2e/java/pom.xml"
# Runs a compiled program.
MAVEN = """store=${0%/bin/*}
# A machine without a network card has no address for Netty's identity, which it reports.
java_options=-Dio.netty.machineId=00:00:00:00:00:01
for word; do
  case $word in -Dexec.mainClass=*) exec java $java_options -cp "$store/classes:$store/jars/*" "${word#*=}" ;; esac
done
exit 2
"""


def prepare(inputs):
    jars, classes = inputs.store / "jars", inputs.store / "classes"
    if not jars.exists():
        inputs.run("mvn", "--batch-mode", "--quiet", "-f", inputs.root / PROJECT, "dependency:copy-dependencies",
                   f"-DoutputDirectory={jars}.new")
        shutil.move(f"{jars}.new", jars)
    shutil.rmtree(classes, ignore_errors=True)
    with tempfile.TemporaryDirectory() as work:
        files = inputs.files(PAGES[0], work)
        inputs.run("javac", "--release=17", "-d", classes, "-cp", f"{jars}/*", *files)
    inputs.program("mvn", MAVEN)
    return {}
