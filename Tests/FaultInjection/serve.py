"""A client of 'easim serve --stdio' for Scripts/inject:  serve.py PROGRAM WORDS…

Plugs an accessory in at a socket, opens a session as an app and compares its echo. Some call of the program fails meanwhile,
so each request may be refused; then the answer has to say why. Ends with the program's exit code. What must not be is
written to the file 'faults', a line each: no answer in time, a refusal without a word, another echo.
"""
import json
import queue
import subprocess
import sys
import threading
import time

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open("err", "wb"))
lines = queue.Queue()


def read():
    for line in server.stdout:
        lines.put(line)
    lines.put(None)


class Ended(Exception):
    """The program ends, or has refused something."""


def fault(text):
    with open("faults", "a") as file:
        print(text, file=file)
    raise Ended


def ask(method, **parameters):
    """The result of a request."""
    try:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode() + b"\n")
        server.stdin.flush()
        while True:
            line = lines.get(timeout=20)
            if line is None:
                raise Ended
            answer = json.loads(line)
            if "id" in answer:
                break
    except BrokenPipeError:
        raise Ended from None
    except queue.Empty:
        fault(f"no answer to {method} in 20 s")
    if "error" in answer:
        if not answer["error"].get("message"):
            fault(f"{method} is refused without a word")
        print(f"{method}: {answer['error']['message']}")
        raise Ended
    return answer["result"]


def converse():
    ask("capture.start")
    accessory = ask("accessory.add", profile="echo", on="unix:a.sock")["accessories"][0]
    ask("accessory.plug", accessory=accessory)
    ask("host.add", address="unix:a.sock")
    app = ask("app.launch", protocols=["com.example.echo"])["app"]
    end = time.monotonic() + 5
    while not any(one["protocols"] for one in ask("app.accessories", app=app)["accessories"]):
        if time.monotonic() > end:
            print("no accessory appeared")
            return
        time.sleep(0.01)
    session = ask("app.open", app=app, protocol="com.example.echo")["session"]
    ask("session.write", session=session, text="hello" * 100)
    received = 0
    while received < 500:
        part = ask("session.read", session=session, wait="5s")
        if not part["bytes"]:
            print("the echo ended early")
            return
        received += part["bytes"]
    if received != 500:
        fault(f"{received} bytes came back, and 500 were sent")
    ask("capture.read", capture="c1")
    print("echoed")


threading.Thread(target=read, daemon=True).start()
try:
    converse()
except Ended:
    pass
try:
    server.stdin.close()
except BrokenPipeError:
    pass
try:
    code = server.wait(20)
except subprocess.TimeoutExpired:
    server.kill()
    code = -9
sys.exit(128 - code if code < 0 else code)
