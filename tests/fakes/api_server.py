"""A stand-in for the API that runs are streamed to. It is as strict about bodies as the one that is
specified, or the one that is deployed; gives out credentials that a stand-in for S3 knows; and
misbehaves when told to.

    with S3Server() as s3, ApiServer(s3) as api:
        api.plan("register", "status", times=2, status=503, retry_after=2)
        ...
        api.runs[0].ends

`requests` has all that arrived, in order; `runs` what became of it. Refusals repeat the caller's
token and body, as bad servers do, so that a client that shows answers to its user is found out.

Everything here is the standard library's.
"""
import base64
import binascii
import collections
import datetime
import gzip
import json
import random
import re
import socket
import string
import threading
import time
import urllib.parse

from s3_server import PATIENCE, Account, Listener, Misbehaviour, Reachable

ENDPOINTS = ("register", "refresh", "finish")
DIALECTS = ("specified", "deployed")
# Each that knows the contract gives more than this by far.
LIFETIME_SECS = 3600

Request = collections.namedtuple("Request", "at endpoint run_id headers body")
Answer = collections.namedtuple("Answer", "status body")


# --- what a body must be ---

def is_text(value):
    return isinstance(value, str)


def is_filled(value):
    return is_text(value) and value != ""


def is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value):
    return is_whole(value) or isinstance(value, float)


def is_list_of_texts(value):
    return isinstance(value, list) and all(map(is_text, value))


def is_filled_list(value):
    return is_list_of_texts(value) and bool(value)


def is_object_of_texts(value):
    return isinstance(value, dict) and all(map(is_text, value.values()))


def is_list_of_pairs(value):
    return is_list_of_texts(value) and all("=" in pair for pair in value)


def is_list_in_a_text(value):
    try:
        return is_text(value) and is_list_of_texts(json.loads(value))
    except ValueError:
        return False


def is_moment(value):
    return is_text(value) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value) is not None


def is_packed_csv(value):
    try:
        return is_csv(gzip.decompress(base64.b64decode(value, validate=True)).decode())
    except (binascii.Error, EOFError, OSError, TypeError, ValueError):
        return False


def is_csv(value):
    """A header at least."""
    return is_text(value) and value.endswith("\n") and value.startswith("timestamp,")


def one_of(*values):
    return lambda value: value in values


def or_null(fits):
    return lambda value: value is None or fits(value)


METADATA = {name: is_filled for name in (
    "job_name", "project_name", "stage_name", "task_name", "team", "env", "language", "orchestrator",
    "executor", "external_run_id", "container_image")}

# Always there, null where it is not known. The names that the dialects share.
HOST = {
    "host_id": is_filled, "host_ip": is_filled, "host_vcpus": is_whole, "host_cpu_model": is_filled,
    "host_memory_mib": is_whole, "host_gpu_model": is_filled, "host_gpu_count": is_whole,
    "host_storage_gb": is_number, "cloud_vendor_id": is_filled, "cloud_account_id": is_filled,
    "cloud_region_id": is_filled, "cloud_zone_id": is_filled, "cloud_instance_type": is_filled,
}
HOST_OF = {
    "specified": {"host_name": is_filled, "host_allocation": is_filled, "host_gpu_vram_mib": is_whole},
    "deployed": {"host_hostname": is_filled, "host_server_allocation": is_filled,
                 "host_gpu_memory_mib": is_whole},
}
REGISTER_MAY = {
    "specified": {"pid": is_whole, "command": is_list_of_texts, "tags": is_object_of_texts},
    "deployed": {"command": is_list_in_a_text, "tags": is_list_of_pairs},
}
FINISH_MUST = {"run_status": one_of("finished", "failed"), "data_source": one_of("inline", "s3")}
FINISH_MUST_OF = {"specified": {"run_id": is_filled}, "deployed": {}}
FINISH_MAY_OF = {"specified": {}, "deployed": {"finished_at": is_moment}}
INLINE = {"specified": {"data_csv": is_packed_csv}, "deployed": {"data_csv": is_csv}}
STORED = {"data_uris": is_filled_list}


def register_schema(dialect, _):
    """(keys that must be there, keys that may be)"""
    host = {name: or_null(fits) for name, fits in {**HOST, **HOST_OF[dialect]}.items()}
    return host, {**METADATA, **REGISTER_MAY[dialect]}


def finish_schema(dialect, body):
    data = INLINE[dialect] if body.get("data_source") == "inline" else STORED
    return ({**FINISH_MUST, **FINISH_MUST_OF[dialect], **data},
            {"exit_code": or_null(is_whole), **FINISH_MAY_OF[dialect]})


def faults_in(body, must, may):
    """As a validator says it: where, and what."""
    known = {**must, **may}
    return ([f"{name}: field required" for name in must if name not in body] +
            [f"{name}: extra fields not permitted" for name in body if name not in known] +
            [f"{name}: not of the right type" for name, value in body.items()
             if name in known and not known[name](value)])


def object_once(pairs):
    """Keys that stand twice are read differently by everybody."""
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def parse_object(text):
    try:
        body = json.loads(text.decode("utf-8"), object_pairs_hook=object_once)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


# --- what becomes of requests ---

class Run:
    """`body` is what it was registered with, `ends` what was accepted as its end."""

    def __init__(self, run_id, body, dialect, prefix):
        self.id = run_id
        self.body = body
        self.dialect = dialect
        self.prefix = prefix
        self.ends = []
        self.refreshes = 0


class Refusal(Exception):
    def __init__(self, status, *details):
        super().__init__(status, *details)
        self.status = status
        self.details = details


def bearer(token):
    return f"Bearer {token}"


class Desk:
    """The API itself: checks, and keeps its books. Any thread may ask."""

    def __init__(self, s3, token, dialect, prefix, run_ids, region, expiry_key, lifetimes):
        assert dialect in DIALECTS
        self.lock = threading.Lock()
        self.rng = random.Random(7)
        self.s3 = s3
        self.token = token
        self.dialect = dialect
        self.prefix = prefix
        self.run_ids = list(run_ids)
        self.region = region
        self.expiry_key = expiry_key
        self.lifetimes = list(lifetimes)
        self.alter = lambda answer: answer
        self.runs = []
        self.secrets = [token]
        self.issued = []

    def answer(self, request):
        with self.lock:
            try:
                body = getattr(self, request.endpoint)(request)
                return Answer(201 if request.endpoint == "register" else 200, body)
            except Refusal as refusal:
                return Answer(refusal.status, self.scolding(refusal, request))

    @staticmethod
    def scolding(refusal, request):
        """With all that it was told."""
        return {"detail": list(refusal.details), "token": request.headers.get("Authorization", ""),
                "body": request.body.decode(errors="replace")}

    def check_caller(self, request, has_body):
        if request.headers.get("Authorization") != bearer(self.token):
            raise Refusal(401, "not authenticated")
        if len(set(map(str.lower, request.headers.keys()))) != len(request.headers.keys()):
            raise Refusal(400, "a header stands twice")
        if has_body and request.headers.get("Accept") != "application/json":
            raise Refusal(406, "nothing but JSON is to be had here")
        if has_body and request.headers.get("Content-Type") != "application/json":
            raise Refusal(415, "nothing but JSON is taken here")

    def checked(self, request, schema):
        self.check_caller(request, has_body=True)
        body = parse_object(request.body)
        if body is None:
            raise Refusal(400, "not a JSON object")
        faults = faults_in(body, *schema(self.dialect, body))
        if faults:
            raise Refusal(422, *faults)
        return body

    def run_of(self, request):
        for run in self.runs:
            if run.id == request.run_id:
                return run
        raise Refusal(404, "no such run")

    # -- endpoints --

    def register(self, request):
        body = self.checked(request, register_schema)
        run_id = self.run_ids.pop(0) if self.run_ids else f"run-{len(self.runs)}-{self.letters(8)}"
        run = Run(run_id, body, self.dialect, self.prefix.rstrip("/"))
        self.runs.append(run)
        return self.alter({"run_id": run.id, "upload_uri_prefix": self.prefix, "status": "started",
                           "upload_credentials": self.issue()})

    def refresh(self, request):
        self.check_caller(request, has_body=False)
        if request.body:
            raise Refusal(422, "an empty body is wanted")
        self.run_of(request).refreshes += 1
        # Whoever goes on with the old ones is found out.
        self.s3.expired.update((key, 403) for key in self.issued)
        return self.alter({"upload_credentials": self.issue()})

    def finish(self, request):
        run = self.run_of(request)
        body = self.checked(request, finish_schema)
        if body.get("run_id", run.id) != run.id:
            raise Refusal(422, "run_id: of another run")
        run.ends.append(body)
        return self.alter({"run": {"run_id": run.id, "run_status": body["run_status"]},
                           "processing": {"status": "ok"}})

    # -- credentials --

    def letters(self, count):
        return "".join(self.rng.choices(string.ascii_letters + string.digits, k=count))

    def issue(self):
        access_key = f"ASIA{self.letters(16).upper()}"
        account = Account(self.letters(40), self.letters(300))
        self.s3.accounts[access_key] = account
        self.issued.append(access_key)
        self.secrets += account
        credentials = {"access_key": access_key, "secret_key": account.secret_key,
                       "session_token": account.token}
        lifetime = self.lifetimes.pop(0) if self.lifetimes else LIFETIME_SECS
        if self.expiry_key is not None:
            moment = datetime.datetime.fromtimestamp(time.time() + lifetime, datetime.timezone.utc)
            credentials[self.expiry_key] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        if self.region is not None:
            credentials["region"] = self.region
        return credentials


# --- one connection ---

class Handler(Misbehaviour):
    server_version = "api"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        endpoint, run_id = self.locate()
        request = Request(time.monotonic(), endpoint, run_id, self.headers, body)
        api = self.server.owner
        api.requests.append(request)
        if endpoint is None:
            self.reply(404, b'{"detail": "Not Found"}')
            return
        mode, arguments = api.next_mode(endpoint)
        getattr(self, f"mode_{mode}")(request, **arguments)

    def do_GET(self):
        """What nobody should ask. A redirected POST may become this."""
        self.server.owner.requests.append(Request(time.monotonic(), None, None, self.headers, b""))
        self.reply(405, b"")

    do_PUT = do_HEAD = do_GET

    def locate(self):
        """(endpoint, run's id) of the path as it came."""
        target = self.requestline.split(" ")[1]
        base = self.server.owner.base
        if not target.startswith(base + "/runs"):
            return None, None
        parts = [urllib.parse.unquote(part) for part in target[len(base) + 1:].split("/")]
        if parts == ["runs"]:
            return "register", None
        names = {"refresh-credentials": "refresh", "finish": "finish"}
        if len(parts) == 3 and parts[0] == "runs" and parts[2] in names:
            return names[parts[2]], parts[1]
        return None, None

    # -- how a request may be answered besides Misbehaviour; names for ApiServer.plan() --

    def answer(self, request):
        """(status, body) when all goes well."""
        answer = self.server.owner.desk.answer(request)
        return answer.status, json.dumps(answer.body).encode()

    def mode_normal(self, request, delay=0):
        self.server.owner.is_closing.wait(delay)
        status, body = self.answer(request)
        self.reply(status, body, {"Content-Type": "application/json"})

    def mode_status(self, request, status=500, retry_after=None, body=None):
        said = {"detail": "no", "token": request.headers.get("Authorization", "")}
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        self.reply(status, json.dumps(said).encode() if body is None else body,
                   {"Content-Type": "application/json", **headers})

    def mode_page(self, request, body, status=200):
        """Instead of what a run needs to know."""
        self.reply(status, body, {"Content-Type": "application/json"})

    def mode_truncated(self, request):
        """What was asked is done, and half of the answer arrives."""
        status, body = self.answer(request)
        self.reply(status, body[:len(body) // 2], size=len(body))
        self.close_connection = True

    def mode_closed(self, request, is_done=True):
        """The client cannot know whether it is done."""
        if is_done:
            self.answer(request)
        self.close_connection = True


# --- the server ---

class ApiServer(Reachable):
    """
    `dialect` is the one that is understood. Credentials are good for `lifetimes` seconds, one after the
    other, then for LIFETIME_SECS; `alter` may be replaced with a function that changes answers. With
    `is_up` False connections are refused until listen().
    """

    def __init__(self, s3, token="a-token-for-tests", dialect="specified", prefix="s3://bucket/some/prefix",
                 run_ids=(), region="eu-west-3", expiry_key="expiration", lifetimes=(), base="", tls=None,
                 is_up=True):
        self.desk = Desk(s3, token, dialect, prefix, run_ids, region, expiry_key, lifetimes)
        self.base = base
        self.tls = tls
        self.requests = []
        self.faults = []
        self.is_closing = threading.Event()
        self.modes = {endpoint: collections.deque() for endpoint in ENDPOINTS}
        self.last_modes = dict.fromkeys(ENDPOINTS, ("normal", {}))
        self.thread = None
        self.listener = Listener(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self.listener.owner = self
        self.listener.server_bind()
        if is_up:
            self.listen()

    def listen(self):
        self.listener.server_activate()
        self.thread = threading.Thread(target=self.listener.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    @property
    def runs(self):
        return self.desk.runs

    @property
    def secrets(self):
        return self.desk.secrets

    def alter(self, change):
        self.desk.alter = change

    def asked(self, endpoint):
        return [request for request in list(self.requests) if request.endpoint == endpoint]

    def plan(self, endpoint, mode, times=1, **arguments):
        """The next `times` requests there are answered so; after what was planned, all is well."""
        assert hasattr(Handler, f"mode_{mode}"), mode
        self.modes[endpoint].extend([(mode, arguments)] * times)

    def otherwise(self, endpoint, mode, **arguments):
        """From now on this is the answer to what nothing was planned for."""
        assert hasattr(Handler, f"mode_{mode}"), mode
        self.last_modes[endpoint] = (mode, arguments)

    def next_mode(self, endpoint):
        try:
            return self.modes[endpoint].popleft()
        except IndexError:
            return self.last_modes[endpoint]

    def stop(self):
        """Connections are refused from now on; those that are there are ended with the next request."""
        self.is_closing.set()
        if self.thread is not None:
            self.listener.shutdown()
            self.thread.join(PATIENCE)
            self.thread = None
        self.listener.server_close()
        for endpoint in ENDPOINTS:
            self.otherwise(endpoint, "reset")
            self.modes[endpoint].clear()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop()
        assert kind is not None or not self.faults, self.faults


class DeafPort:
    """Takes no connection and refuses none: nobody accepts, and the queue of those who wait is full."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.waiting = []
        while self.connects():
            pass

    def connects(self):
        client = socket.socket()
        client.settimeout(0.2)
        self.waiting.append(client)
        return client.connect_ex(self.listener.getsockname()) == 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in (self.listener, *self.waiting):
            end.close()
