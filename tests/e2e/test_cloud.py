"""Which cloud this is: --host-info against a metadata service of our own."""
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from helpers import IS_ASAN, ROOT, clean_environment, run

sys.path.insert(0, str(ROOT / "tests" / "fakes"))
from metadata_server import PARROTS, MetadataServer, closed_port  # noqa: E402
from recording import Recorder, Sink  # noqa: E402

CLOUD = ("vendor_id", "account_id", "region_id", "zone_id", "instance_type")
NOTHING = (None,) * len(CLOUD)

# Starting, the first look at the host, and a machine that is busy with other tests.
SLACK_SECS = 2.5 if IS_ASAN else 1.5
# With many at once.
BUSY_SECS = 3 * SLACK_SECS


def ask(endpoint, **extra):
    """(what is known of the cloud, host_id, seconds)"""
    environment = {**clean_environment(), "TRACKER_METADATA_ENDPOINT": endpoint, **extra}
    start = time.monotonic()
    done = run("--host-info", "--no-gpu", env=environment)
    took = time.monotonic() - start
    assert done.returncode == 0 and done.stderr == b"", done.stderr
    facts = json.loads(done.stdout)
    return tuple(facts[f"cloud_{name}"] for name in CLOUD), facts["host_id"], took


@pytest.fixture(scope="module")
def own_id():
    """What the host is called where no cloud knows better."""
    return ask(f"http://127.0.0.1:{closed_port()}")[1]


AWS = ("aws", "123456789012", "us-west-2", "us-west-2b", "m5.xlarge"), "i-1234567890abcdef0"
ALICLOUD = (("alicloud", "1609000000000000", "cn-hangzhou", "cn-hangzhou-i", "ecs.g7.large"),
            "i-bp14jdr1e54dwp2n1hcp")
OVH = "f7ac731cc11f40efbc03a9f9e1d1d21f", "d8e02d56-2648-49a3-bf97-6be8f1204f38"

VENDORS = {
    "aws": AWS,
    "aws-v1": AWS,
    "aws-china": (("aws", "123456789012", "cn-north-1", "us-west-2b", "m5.xlarge"), AWS[1]),
    "gcp": (("gcp", "sample-project", "europe-west4", "europe-west4-b", "n2-standard-8"),
            "4520031799277581759"),
    "azure": (("azure", "8d10da13-8125-4ba9-a717-bf7490507b3d", "westeurope", "2",
               "Standard_D4s_v5"), "02aab8a4-74ef-476e-8182-f6d2ba4166a6"),
    "hcloud": (("hcloud", None, "eu-central", "hel1-dc2", None), "47110815"),
    "upcloud": (("upcloud", None, "fi-hel2", None, None), "0089aef7-5ce1-4a6a-b3a1-64b2ba2b4a41"),
    "alicloud": ALICLOUD,
    "alicloud-v1": ALICLOUD,
    "ovh": (("ovh", OVH[0], "eu-west-par", "eu-west-par-a", "b3-8"), OVH[1]),
    "ovh-nova": (("ovh", OVH[0], None, None, "b3-8"), OVH[1]),
    "vultr": (("vultr", None, "EWR", None, None), "36e9cf60-5d93-4e31-8ebf-613b3d2874fb"),
    "oci": (("oci", "ocid1.tenancy.oc1..bbbb", "us-phoenix-1", "EMIr:PHX-AD-1",
             "VM.Standard.E4.Flex"), "ocid1.instance.oc1.phx.abuw"),
    "do": (("do", None, "nyc3", None, None), "2756294"),
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_vendor_is_known(vendor):
    with MetadataServer(vendor) as server:
        cloud, host_id, took = ask(server.url)
    assert (cloud, host_id) == VENDORS[vendor]
    assert took < 2 + SLACK_SECS


@pytest.mark.parametrize("vendor", ["none", "openstack", "other-v1.json", *PARROTS])
def test_look_alike_is_nobody(vendor, own_id):
    with MetadataServer(vendor) as server:
        cloud, host_id, _ = ask(server.url)
        assert len(server.requests) >= 10
    assert (cloud, host_id) == (NOTHING, own_id)


# --- how it is asked ---

def test_aws_gets_a_short_token_and_nothing_without_it():
    with MetadataServer("aws") as server:
        ask(server.url)
        requests = list(server.requests)
    tokens = [headers for method, path, headers in requests
              if method == "PUT" and "x-aws-ec2-metadata-token-ttl-seconds" in headers]
    assert [headers["x-aws-ec2-metadata-token-ttl-seconds"] for headers in tokens] == ["60"]
    of_aws = [headers for _, path, headers in requests if path.endswith("services/domain")]
    assert len(of_aws) == 1 and of_aws[0]["x-aws-ec2-metadata-token"].startswith("aws-")
    # Nothing of one vendor goes to another.
    for _, path, headers in requests:
        assert ("x-aws-ec2-metadata-token" not in headers or
                path.startswith(("/latest/meta-data/", "/latest/dynamic/"))), path
        assert ("authorization" in headers) == path.startswith("/opc/"), path


def test_first_round_is_one_small_request_of_each():
    with MetadataServer("none") as server:
        ask(server.url)
        first = server.requests[:10]
    assert sorted({path for _, path, _ in first}) == [
        "/computeMetadata/v1/instance/zone", "/hetzner/v1/metadata", "/latest/api/token",
        "/metadata/instance?api-version=2021-02-01", "/metadata/v1.json",
        "/opc/v2/instance/", "/openstack/latest/network_data.json", "/v1.json"]
    # Nobody's scripts, keys or credentials are asked for.
    for _, path, _ in server.requests:
        assert "user" not in path and "attributes" not in path and "security-cred" not in path


def test_proxy_is_passed_by():
    with MetadataServer("gcp") as server, Recorder(Sink) as proxy:
        proxies = {name: proxy.url for name in ("http_proxy", "HTTP_PROXY", "https_proxy",
                                                "all_proxy", "ALL_PROXY")}
        cloud, _, _ = ask(server.url, **proxies)
        assert proxy.requests == []
    assert cloud[0] == "gcp"


def test_endpoint_may_end_with_a_slash():
    with MetadataServer("vultr") as server:
        assert ask(server.url + "/")[0][0] == "vultr"


@pytest.mark.parametrize("endpoint", ["nonsense", "http://", "ftp://127.0.0.1:1", "a" * 5000,
                                      "http://127.0.0.1:99999", "file:///etc/passwd"])
def test_endpoint_that_is_none(endpoint, own_id):
    cloud, host_id, _ = ask(endpoint)
    assert (cloud, host_id) == (NOTHING, own_id)


def test_azure_is_asked_again_when_there_were_too_many_at_once():
    with MetadataServer("azure", "throttle") as server:
        cloud, _, took = ask(server.url)
    assert cloud[0] == "azure"
    assert server.asked().count("/metadata/instance?api-version=2021-02-01") == 2
    assert took < 2 + SLACK_SECS


def test_aws_in_a_container_that_tokens_do_not_reach():
    with MetadataServer("aws-v1", "silent-token") as server:
        cloud, _, took = ask(server.url)
    assert cloud[0] == "aws"
    assert took < 2 + SLACK_SECS


def test_variables_go_before_what_the_cloud_says():
    with MetadataServer("aws") as server:
        cloud, host_id, _ = ask(server.url, TRACKER_CLOUD_REGION_ID="cellar",
                                TRACKER_CLOUD_ACCOUNT_ID="0", TRACKER_HOST_ID="own")
    assert cloud == ("aws", None, "cellar", "us-west-2b", "m5.xlarge")
    assert host_id == "own"


# --- no cloud, and broken ones ---

def test_t_cld_01_without_a_cloud_all_is_null_at_once(own_id):
    cloud, host_id, took = ask(f"http://127.0.0.1:{closed_port()}")
    assert (cloud, host_id) == (NOTHING, own_id)
    assert took < SLACK_SECS


@pytest.mark.parametrize("mode", ["hang", "dribble"])
def test_t_cld_01_service_that_hangs_does_not_hang_us(mode, own_id):
    with MetadataServer("none", mode) as server:
        cloud, host_id, took = ask(server.url)
    assert (cloud, host_id) == (NOTHING, own_id)
    assert took < 5


def ask_late(vendor, delay):
    with MetadataServer(vendor, "slow", delay) as server:
        cloud, host_id, took = ask(server.url)
        return cloud, host_id, took, max(server.times) - min(server.times)


def at_once(function, *arguments):
    """They spend their time waiting. {first argument: result}"""
    with ThreadPoolExecutor(len(arguments[0])) as pool:
        return dict(zip(arguments[0], pool.map(function, *arguments)))


def test_t_cld_02_each_provider_has_2_s():
    """Everything is answered, but too late."""
    for vendor, result in at_once(ask_late, list(VENDORS), [3] * len(VENDORS)).items():
        cloud, _, took, asking = result
        assert cloud == NOTHING, vendor
        assert took < 2 + BUSY_SECS and asking < 2, vendor


def test_slow_vendor_is_known():
    for vendor, result in at_once(ask_late, list(VENDORS), [0.4] * len(VENDORS)).items():
        cloud, host_id, took, _ = result
        assert (cloud, host_id) == VENDORS[vendor]
        assert took < 2 + BUSY_SECS, vendor


@pytest.mark.parametrize("mode", ["garbage", "huge", "redirect", "error", "cut"])
@pytest.mark.parametrize("vendor", ["upcloud", "aws-v1", "gcp"])
def test_broken_service_is_nobody(vendor, mode, own_id):
    with MetadataServer(vendor, mode) as server:
        cloud, host_id, took = ask(server.url)
        assert not any(path.startswith("/moved") for _, path, _ in server.requests)
    assert (cloud, host_id) == (NOTHING, own_id)
    assert took < 2 + SLACK_SECS
