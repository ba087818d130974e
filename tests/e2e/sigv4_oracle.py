"""What botocore makes of S3 requests. Not a test: test_sigv4.py runs it with a Python that has botocore.

Reads a list of cases from standard input as JSON, writes a list of answers. Bytes are hexadecimal.
A case: bucket, key, region, endpoint (or null), access_key, secret_key, token (or ""), now, body,
and whether its address is asked for, too (by a whole client of botocore's, which is slow to make
and knows real regions only). An answer: url, host and the headers of the request.
"""
import datetime
import functools
import json
import sys
import types

import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.session
import botocore.utils


class Stop(Exception):
    pass


def freeze(now):
    """botocore looks at the clock itself: older ones through the module, later ones by a function."""
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=now)

    class Frozen(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return moment

        @classmethod
        def now(cls, tz=None):
            return moment.replace(tzinfo=tz)

    botocore.auth.datetime = types.SimpleNamespace(
        datetime=Frozen, timedelta=datetime.timedelta, timezone=datetime.timezone)
    if hasattr(botocore.auth, "get_current_datetime"):
        botocore.auth.get_current_datetime = lambda remove_tzinfo=True: moment


@functools.lru_cache(maxsize=None)
def client(region, endpoint):
    """Without an endpoint of one's own, as it comes; with one, path-style."""
    style = {"us_east_1_regional_endpoint": "regional"}
    if endpoint:
        style["addressing_style"] = "path"
    session = botocore.session.Session()
    return session.create_client(
        "s3", region_name=region, endpoint_url=endpoint, aws_access_key_id="a",
        aws_secret_access_key="b", config=botocore.config.Config(s3=style))


def client_url(case, key):
    """Where a client of botocore's would put the object."""
    seen = []

    def look(request, **_):
        seen.append(request.url)
        raise Stop

    events = client(case["region"], case["endpoint"]).meta.events
    events.register("before-sign.s3.PutObject", look)
    try:
        client(case["region"], case["endpoint"]).put_object(Bucket=case["bucket"], Key=key, Body=b"")
    except Stop:
        pass
    finally:
        events.unregister("before-sign.s3.PutObject", look)
    return seen[0]


def plain_url(case, key):
    path = botocore.utils.percent_encode(key, safe="/~")
    if case["endpoint"]:
        return f"{case['endpoint'].rstrip('/')}/{case['bucket']}/{path}"
    return f"https://{case['bucket']}.s3.{case['region']}.amazonaws.com/{path}"


def answer(case):
    freeze(case["now"])
    key = bytes.fromhex(case["key"])
    url = client_url(case, key.decode()) if case["by_client"] else plain_url(case, key)
    request = botocore.awsrequest.AWSRequest(method="PUT", url=url, data=bytes.fromhex(case["body"]))
    credentials = botocore.credentials.Credentials(case["access_key"], case["secret_key"],
                                                   case["token"] or None)
    botocore.auth.S3SigV4Auth(credentials, "s3", case["region"]).add_auth(request)
    return {"url": url, "host": botocore.auth._host_from_url(url),
            "headers": {name.lower(): value for name, value in request.headers.items()}}


json.dump([answer(case) for case in json.load(sys.stdin)], sys.stdout)
