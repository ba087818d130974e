#!/usr/bin/env python3
"""The metadata service of a cloud, as strict as the real one: headers and tokens are needed, and
what is not there is a 404. Also services that only look like one, and broken ones.

    with MetadataServer("aws") as server:    server.url, server.requests
    metadata_server.py --vendor aws          prints its port and serves until it is ended
"""
import argparse
import contextlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Does not hang for longer, even if the test that uses it does.
HANG_SECS = 60
# After the first request. Azure counts by the second.
THROTTLE_SECS = 0.9


# The value of a header: any number of seconds that a token may live.
LIFETIME = object()


def is_lifetime(text):
    return text.isdigit() and 0 < int(text) <= 21600


class Route:
    """One request that is answered. Header names are in lower case."""

    def __init__(self, path, body, method="GET", **headers):
        self.path, self.method = path, method
        self.body = body if isinstance(body, bytes) else body.encode()
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def fits(self, method, path, headers):
        return (method == self.method and path == self.path and
                all(name in headers and (value == headers[name] or
                                         value is LIFETIME and is_lifetime(headers[name]))
                    for name, value in self.headers.items()))


def routes(bodies, **headers):
    return [Route(path, body if isinstance(body, str) else json.dumps(body), **headers)
            for path, body in bodies.items()]


# --- what each says ---

AWS_BODIES = {
    "/latest/meta-data/": "ami-id\nhostname\ninstance-id\n",
    "/latest/meta-data/services/domain": "amazonaws.com",
    "/latest/meta-data/placement/region": "us-west-2",
    "/latest/meta-data/placement/availability-zone": "us-west-2b",
    "/latest/meta-data/instance-type": "m5.xlarge",
    "/latest/meta-data/instance-id": "i-1234567890abcdef0",
    # The service itself writes blanks around the colons.
    "/latest/dynamic/instance-identity/document":
        '{\n  "accountId" : "123456789012",\n  "availabilityZone" : "us-west-2b",\n'
        '  "instanceId" : "i-1234567890abcdef0",\n  "instanceType" : "m5.xlarge",\n'
        '  "kernelId" : null,\n  "region" : "us-west-2"\n}',
    "/latest/meta-data/identity-credentials/ec2/info":
        '{\n  "Code" : "Success",\n  "AccountId" : "123456789012"\n}',
}

GCP_BODIES = {
    "/computeMetadata/v1/instance/zone": "projects/123456789/zones/europe-west4-b",
    "/computeMetadata/v1/instance/machine-type": "projects/123456789/machineTypes/n2-standard-8",
    "/computeMetadata/v1/instance/id": "4520031799277581759",
    "/computeMetadata/v1/project/project-id": "sample-project",
}

AZURE = {"compute": {
    "azEnvironment": "AzurePublicCloud", "location": "westeurope", "name": "examplevm",
    "provider": "Microsoft.Compute", "resourceGroupName": "macikgo-test",
    "subscriptionId": "8d10da13-8125-4ba9-a717-bf7490507b3d", "tags": "a:b;c:d",
    "userData": "", "vmId": "02aab8a4-74ef-476e-8182-f6d2ba4166a6",
    "vmSize": "Standard_D4s_v5", "zone": "2"}, "network": {"interface": []}}

OCI = {
    "availabilityDomain": "EMIr:PHX-AD-1", "faultDomain": "FAULT-DOMAIN-3",
    "compartmentId": "ocid1.compartment.oc1..aaaa", "displayName": "my-example-instance",
    "id": "ocid1.instance.oc1.phx.abuw", "region": "phx", "canonicalRegionName": "us-phoenix-1",
    "ociAdName": "phx-ad-1", "shape": "VM.Standard.E4.Flex", "state": "Running",
    "regionInfo": {"realmKey": "oc1", "regionIdentifier": "us-phoenix-1", "regionKey": "PHX"},
    "tenantId": "ocid1.tenancy.oc1..bbbb", "timeCreated": 1600381928581,
    "metadata": {"ssh_authorized_keys": "ssh-rsa AAAA"}}

HCLOUD = ("availability-zone: hel1-dc2\nhostname: my-server\ninstance-id: 47110815\n"
          "local-ipv4: ''\npublic-ipv4: 192.0.2.1\npublic-keys: []\nregion: eu-central\n"
          "vendor_data: |\n  Content-Type: multipart/mixed\n  region: nowhere\n")

UPCLOUD = {"cloud_name": "upcloud", "instance_id": "0089aef7-5ce1-4a6a-b3a1-64b2ba2b4a41",
           "hostname": "box.example.com", "platform": "servers", "public_keys": [],
           "region": "fi-hel2", "storage": {"disks": []}, "tags": [], "user_data": ""}

DIGITALOCEAN = {"droplet_id": 2756294, "hostname": "sample-droplet", "region": "nyc3",
                "vendor_data": "#cloud-config\ndisable_root: false\n", "public_keys": [],
                "interfaces": {"public": []}, "dns": {"nameservers": ["192.0.2.53"]}}

VULTR = {"bgp": {}, "hostname": "vultr-guest", "instanceid": "a747bfz6385e",
         "instance-v2-id": "36e9cf60-5d93-4e31-8ebf-613b3d2874fb", "interfaces": [],
         "public-keys": "", "region": {"regioncode": "EWR"}, "tags": []}

ALICLOUD_BODIES = {
    "/latest/meta-data/instance-id": "i-bp14jdr1e54dwp2n1hcp",
    "/latest/meta-data/region-id": "cn-hangzhou",
    "/latest/meta-data/zone-id": "cn-hangzhou-i",
    "/latest/meta-data/instance/instance-type": "ecs.g7.large",
    "/latest/meta-data/owner-account-id": "1609000000000000",
}


def openstack(resolver, zone):
    """Any OpenStack, with its copy of the paths of EC2."""
    return routes({
        "/openstack/latest/network_data.json":
            {"links": [], "services": [{"type": "dns", "address": "192.0.2.53"},
                                       {"type": "dns", "address": resolver}]},
        "/openstack/latest/meta_data.json":
            {"uuid": "d8e02d56-2648-49a3-bf97-6be8f1204f38", "availability_zone": zone,
             "project_id": "f7ac731cc11f40efbc03a9f9e1d1d21f", "hostname": "box.novalocal"},
        "/latest/meta-data/instance-type": "b3-8",
        "/latest/meta-data/instance-id": "i-0000002a",
        "/latest/meta-data/placement/availability-zone": zone,
    })


def with_token(vendor, bodies):
    """A token is given to who asks for it; nothing goes without."""
    prefix = {"aws": "x-aws-ec2-metadata-token", "alicloud": "x-aliyun-ecs-metadata-token"}[vendor]
    token = f"{vendor}-AQAEAKw5EzAb=="
    ask = Route("/latest/api/token", token, "PUT")
    ask.headers = {f"{prefix}-ttl-seconds": LIFETIME}
    held = routes(bodies)
    for route in held:
        route.headers = {prefix: token}
    return [ask, *held]


VENDORS = {
    "none": [],
    "aws": with_token("aws", AWS_BODIES),
    "aws-v1": routes(AWS_BODIES),
    "aws-china": with_token("aws", {**AWS_BODIES,
                                    "/latest/meta-data/services/domain": "amazonaws.com.cn",
                                    "/latest/meta-data/placement/region": "cn-north-1"}),
    "gcp": routes(GCP_BODIES, metadata_flavor="Google"),
    "azure": routes({"/metadata/instance?api-version=2021-02-01": AZURE}, metadata="true"),
    "hcloud": routes({"/hetzner/v1/metadata": HCLOUD}),
    "upcloud": routes({"/metadata/v1.json": UPCLOUD}),
    "alicloud": with_token("alicloud", ALICLOUD_BODIES),
    "alicloud-v1": routes(ALICLOUD_BODIES),
    "ovh": openstack("213.186.33.99", "eu-west-par-a"),
    "ovh-nova": openstack("213.186.33.99", "nova"),
    "vultr": routes({"/v1.json": VULTR}),
    "oci": routes({"/opc/v2/instance/": OCI}, authorization="Bearer Oracle"),
    "do": routes({"/metadata/v1.json": DIGITALOCEAN}),
    # Look-alikes.
    "openstack": openstack("192.0.2.99", "nova"),
    "other-v1.json": routes({"/v1.json": {"version": "1", "region": "here"},
                             "/metadata/v1.json": {"cloud_name": "other", "region": "here"}}),
}

# Those that say the same to everything.
PARROTS = {
    "ok": b"ok\n",
    "empty": b"",
    "object": b"{}",
    "portal": b"<!DOCTYPE html>\n<html><head><title>Welcome</title></head>\n"
              b"<body>region: eu-central</body></html>\n",
    "binary": bytes(range(256)) * 4,
}

MODES = ("normal", "hang", "slow", "garbage", "huge", "redirect", "error", "cut", "dribble",
         "throttle", "silent-token")


# --- the server ---

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.server.owner.answer(self)

    do_PUT = do_POST = do_HEAD = do_GET

    def reply(self, status, body, length=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """Clients that go away are nothing to tell."""


class MetadataServer:
    """Plays `vendor` (of VENDORS or PARROTS) in a mode of MODES; `delay` in seconds."""

    def __init__(self, vendor="none", mode="normal", delay=0):
        assert (vendor in VENDORS or vendor in PARROTS) and mode in MODES
        self.vendor, self.mode, self.delay = vendor, mode, delay
        self.requests = [] # (method, path, headers)
        self.times = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02},
                         daemon=True).start()
        return self

    def __exit__(self, *reason):
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    def asked(self, method="GET"):
        return [path for its_method, path, _ in self.requests if its_method == method]

    def answer(self, handler):
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            self.requests.append((handler.command, handler.path, headers))
            self.times.append(time.monotonic())
        size = int(headers.get("content-length", "0"))
        if size > 0:
            handler.rfile.read(size)
        if self.mode == "throttle" and time.monotonic() < self.times[0] + THROTTLE_SECS:
            handler.reply(429, b"Too many requests")
        elif self.mode == "silent-token" and handler.path == "/latest/api/token":
            self._ended.wait(HANG_SECS)
        else:
            getattr(self, "_" + self.mode.replace("-", "_"), self._normal)(handler, headers)

    def _normal(self, handler, headers):
        if self.vendor in PARROTS:
            handler.reply(200, PARROTS[self.vendor])
            return
        for route in VENDORS[self.vendor]:
            if route.fits(handler.command, handler.path, headers):
                handler.reply(200, route.body)
                return
        known = any(route.path == handler.path for route in VENDORS[self.vendor])
        handler.reply(401 if known else 404, b"<html><body>no</body></html>")

    def _slow(self, handler, headers):
        self._ended.wait(self.delay)
        self._normal(handler, headers)

    def _hang(self, handler, headers):
        self._ended.wait(HANG_SECS)
        handler.close_connection = True

    def _garbage(self, handler, headers):
        handler.wfile.write(bytes(range(256)))
        handler.close_connection = True

    def _huge(self, handler, headers):
        handler.send_response(200)
        handler.end_headers()
        start = {"/metadata/v1.json": b'{"cloud_name": "upcloud", "a": "'}.get(handler.path, b"")
        with contextlib.suppress(OSError):
            handler.wfile.write(start)
            while not self._ended.is_set():
                handler.wfile.write(b"a" * 65536)
        handler.close_connection = True

    def _redirect(self, handler, headers):
        if handler.path.startswith("/moved"):
            handler.path = handler.path.removeprefix("/moved")
            self._normal(handler, headers)
        else:
            handler.reply(302, b"", Location=f"{self.url}/moved{handler.path}")

    def _error(self, handler, headers):
        handler.reply(500, b"{}")

    def _cut(self, handler, headers):
        """Says that more comes than does."""
        for route in VENDORS[self.vendor]:
            if route.path == handler.path:
                handler.reply(200, route.body, length=len(route.body) + 10)
                break
        handler.close_connection = True

    def _dribble(self, handler, headers):
        """A byte now and then, for ever."""
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not self._ended.wait(0.05):
                handler.wfile.write(b"a")
        handler.close_connection = True


def closed_port():
    """A port of this host at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vendor", default="none", choices=[*VENDORS, *PARROTS])
    parser.add_argument("--mode", default="normal", choices=MODES)
    parser.add_argument("--delay", type=float, default=0, help="seconds, for the mode slow")
    arguments = parser.parse_args()
    with MetadataServer(arguments.vendor, arguments.mode, arguments.delay) as server:
        print(server.port, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
