"""Users and policies with boto3 against a running server: `policies-behaviour.py ENDPOINT CONSOLE SUFFIX`. Root's credentials come from
the environment; users, groups and access keys are made over the Admin API, signed by botocore. Prints one line for each behaviour that
held; raises otherwise."""

import json
import sys
import urllib.error
import urllib.request

import boto3
from botocore import UNSIGNED
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

endpoint, console, suffix = sys.argv[1:]
region = "us-east-1"


def held(what):
    print("held:", what, flush=True)


def client(keys=None, service="s3", **more):
    config = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}, **more)
    return boto3.client(service, endpoint_url=endpoint, region_name=region, config=config, **(keys or {}))


root = client()
me = boto3.Session().get_credentials()


def admin(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = AWSRequest(method, f"http://{console}/api/v1{path}", {"content-type": "application/json"}, data)
    S3SigV4Auth(Credentials(me.access_key, me.secret_key), "s3", region).add_auth(request)
    sent = urllib.request.Request(request.url, data, dict(request.headers.items()), method=method)
    try:
        said = urllib.request.urlopen(sent).read()
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {path}: {error.code} {error.read()}") from None
    return json.loads(said) if said else None


def policy(name, *statements):
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **one} for one in statements]}
    admin("PUT", f"/policies/{name}-{suffix}", {"document": document})
    return f"{name}-{suffix}"


def user(name, *policies, groups=()):
    made = admin("POST", "/users", {"accessKey": f"{name}-{suffix}", "policyNames": list(policies), "groups": list(groups)})
    return {"aws_access_key_id": made["accessKey"], "aws_secret_access_key": made["secretKey"]}


def outcome(call, **arguments):
    """`ok`, or the code of the error. HEAD has the status for a code."""
    try:
        call(**arguments)
        return "ok"
    except ClientError as error:
        return error.response["Error"]["Code"]


def expect(seen, wanted, what=""):
    assert seen == wanted, f"{what}: {seen} instead of {wanted}"


bucket, other = f"policies-{suffix}", f"policies-other-{suffix}"
for name in (bucket, other):
    root.create_bucket(Bucket=name)
arn = f"arn:aws:s3:::{bucket}"
for key in ("public/a.txt", "private/b.txt", "home/ada/c.txt", "secret"):
    root.put_object(Bucket=bucket, Key=key, Body=key.encode(), Tagging="class=red" if key == "secret" else "class=blue")


def bucket_policy(*statements):
    document = {"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", **({} if "NotPrincipal" in one else {"Principal": "*"}), **one} for one in statements]}
    root.put_bucket_policy(Bucket=bucket, Policy=json.dumps(document))


def gets(caller, key="public/a.txt", **more):
    return outcome(caller.get_object, Bucket=bucket, Key=key, **more)


def puts(caller, key="public/new", **more):
    return outcome(caller.put_object, Bucket=bucket, Key=key, Body=b"new", **more)


def lists(caller, **more):
    return outcome(caller.list_objects_v2, Bucket=bucket, **more)


def removes(caller, key="public/new"):
    return outcome(caller.delete_object, Bucket=bucket, Key=key)


nobody = client(user("nobody"))
expect([gets(nobody), puts(nobody), lists(nobody), removes(nobody)], ["AccessDenied"] * 4, "without any policy")
expect(outcome(nobody.head_object, Bucket=bucket, Key="secret"), "403", "HEAD")
expect(outcome(nobody.head_bucket, Bucket=bucket), "403", "HEAD of the bucket")
expect(outcome(nobody.create_bucket, Bucket=bucket + "-x"), "AccessDenied", "a bucket")
expect(nobody.list_buckets()["Buckets"], [], "buckets")
reader = client(user("reader", "readonly"))
expect([gets(reader), lists(reader), puts(reader), removes(reader, "secret")], ["ok", "ok", "AccessDenied", "AccessDenied"], "readonly")
writer = client(user("writer", "readwrite"))
expect([gets(writer), puts(writer), removes(writer)], ["ok", "ok", "ok"], "readwrite")
expect(gets(writer, "public/new"), "NoSuchKey", "what was deleted")
held("who has no policy may do nothing, and the policies that are built in say what they are called")

home = policy(
    "home",
    {"Action": ["s3:GetObject", "s3:PutObject"], "Resource": f"{arn}/home/${{aws:username}}/*"},
    {"Action": "s3:ListBucket", "Resource": arn, "Condition": {"StringLike": {"s3:prefix": ["", "home/${aws:username}/*"]},
                                                             "StringEquals": {"s3:delimiter": "/"}}},
)
ada = client(user("ada", home))
mine = f"home/ada-{suffix}/notes.txt"
expect([puts(ada, mine), gets(ada, mine)], ["ok", "ok"], "her own")
expect([gets(ada, "home/ada/c.txt"), puts(ada, "home/adam/x"), removes(ada, mine)], ["AccessDenied"] * 3, "of others")
expect(lists(ada, Prefix=f"home/ada-{suffix}/", Delimiter="/"), "ok", "her folder")
expect([lists(ada, Prefix="", Delimiter="/"), lists(ada, Delimiter="/")], ["ok", "AccessDenied"], "an empty prefix is one")
expect([lists(ada, Prefix="private/", Delimiter="/"), lists(ada, Prefix=f"home/ada-{suffix}/")], ["AccessDenied"] * 2, "elsewhere, or all")
expect(ada.list_buckets()["Buckets"], [], "a bucket of which she may list a part is not hers to list")
held("a home folder with variables, and listings by prefix and delimiter")

no_secrets = policy("no-secrets", {"Effect": "Deny", "Action": "s3:*", "Resource": f"{arn}/secret"})
may_read = policy("may-read", {"Action": "s3:GetObject", "Resource": f"{arn}/*"})
admin("POST", "/groups", {"name": f"staff-{suffix}"})
admin("POST", "/policies/attach", {"group": f"staff-{suffix}", "policyNames": [may_read, no_secrets]})
eve_keys = user("eve", groups=[f"staff-{suffix}"])
eve = client(eve_keys)
expect([gets(eve), gets(eve, "secret")], ["ok", "AccessDenied"], "by her group")
admin("POST", "/policies/attach", {"user": f"eve-{suffix}", "policyNames": ["readwrite"]})
expect([puts(eve), gets(eve, "secret")], ["ok", "AccessDenied"], "a denial of the group wins over the user's own policy")
expect(outcome(eve.copy_object, Bucket=bucket, Key="stolen", CopySource=f"{bucket}/secret"), "AccessDenied", "nor by a copy")
answer = eve.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "secret"}, {"Key": "public/new"}]})
expect([e["Code"] for e in answer["Errors"]], ["AccessDenied"], "nor among many")
expect([d["Key"] for d in answer["Deleted"]], ["public/new"], "the others go")
admin("PATCH", f"/groups/staff-{suffix}", {"status": "disabled"})
expect(gets(eve, "secret"), "ok", "a group that is disabled says nothing")
admin("PATCH", f"/groups/staff-{suffix}", {"status": "enabled"})
expect(gets(eve, "secret"), "AccessDenied", "and then again")
held("groups, and a denial that wins over every permission, for single objects, copies and many at once")

only_put = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:PutObject", "Resource": "*"}]}
made = admin("POST", "/access-keys", {"user": f"eve-{suffix}", "policy": only_put})
narrow = client({"aws_access_key_id": made["accessKey"], "aws_secret_access_key": made["secretKey"]})
expect([puts(narrow), gets(narrow), puts(narrow, "secret")], ["ok", "AccessDenied", "AccessDenied"], "a key with a policy")
admin("DELETE", f"/access-keys/{made['accessKey']}")
expect(puts(narrow), "InvalidAccessKeyId", "a key that is gone")
held("an access key that may do less than its user, until it is gone")

anyone = client(signature_version=UNSIGNED)
expect([gets(anyone), lists(anyone), puts(anyone)], ["AccessDenied"] * 3, "strangers")
public = {"Action": "s3:GetObject", "Resource": f"{arn}/public/*"}
bucket_policy(public)
expect([gets(anyone), gets(anyone, "private/b.txt"), gets(anyone, "public/none"), lists(anyone), puts(anyone)],
       ["ok"] + ["AccessDenied"] * 4, "public/")
expect([gets(nobody), gets(nobody, "private/b.txt")], ["ok", "AccessDenied"], "users are anybody, too")
expect(root.get_bucket_policy_status(Bucket=bucket)["PolicyStatus"]["IsPublic"], True, "status")
root.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration={"RestrictPublicBuckets": True})
expect([gets(anyone), gets(reader)], ["AccessDenied", "ok"], "restricted")
root.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration={"BlockPublicPolicy": True})
expect(gets(anyone), "ok", "what is there stays")
document = json.loads(root.get_bucket_policy(Bucket=bucket)["Policy"])
expect(outcome(root.put_bucket_policy, Bucket=bucket, Policy=json.dumps(document)), "AccessDenied", "a public policy")
root.delete_public_access_block(Bucket=bucket)
held("anonymous reads of what a bucket policy opens, and blocks of public access")

ann = f"arn:aws:iam:::user/nobody-{suffix}"
bucket_policy({"Principal": {"AWS": ann}, "Action": ["s3:GetObject", "s3:PutObject"], "Resource": f"{arn}/*"})
expect([gets(nobody, "private/b.txt"), puts(nobody), gets(anyone), gets(ada, "private/b.txt")],
       ["ok", "ok", "AccessDenied", "AccessDenied"], "for one user")
bucket_policy({"Effect": "Deny", "Principal": {"AWS": f"arn:aws:iam:::user/writer-{suffix}"}, "Action": "s3:DeleteObject",
               "Resource": f"{arn}/*"})
expect([removes(writer), puts(writer), outcome(writer.delete_object, Bucket=other, Key="x")], ["AccessDenied", "ok", "ok"], "denied to one")
expect(removes(root), "ok", "root")
bucket_policy({"Effect": "Deny", "NotPrincipal": {"AWS": f"arn:aws:iam:::user/writer-{suffix}"}, "Action": "s3:GetObject",
               "Resource": f"{arn}/*"})
expect([gets(writer), gets(reader)], ["ok", "AccessDenied"], "denied to all but one")
held("bucket policies for one user, against one user, and against all others")


def conditions(effect, condition, action="s3:GetObject", resource=f"{arn}/*"):
    bucket_policy({"Effect": effect, "Action": action, "Resource": resource, "Condition": condition})


for address, answer in (("127.0.0.0/8", "ok"), ("192.0.2.0/24", "AccessDenied"), ("127.0.0.1", "ok"), ("::1/128", "AccessDenied")):
    conditions("Allow", {"IpAddress": {"aws:SourceIp": address}})
    expect(gets(nobody), answer, address)
conditions("Deny", {"NotIpAddress": {"aws:SourceIp": ["192.0.2.0/24", "198.51.100.0/24"]}})
expect(gets(reader), "AccessDenied", "outside of two networks")
conditions("Deny", {"NotIpAddress": {"aws:SourceIp": ["192.0.2.0/24", "127.0.0.0/8"]}})
expect(gets(reader), "ok", "inside of one")
conditions("Deny", {"Bool": {"aws:SecureTransport": "false"}}, "s3:*", [arn, f"{arn}/*"])
expect([gets(reader), lists(reader), puts(writer)], ["AccessDenied"] * 3, "without TLS")
conditions("Deny", {"Bool": {"aws:SecureTransport": "true"}}, "s3:*", [arn, f"{arn}/*"])
expect([gets(reader), lists(reader), puts(writer)], ["ok"] * 3, "with TLS")
conditions("Allow", {"StringEquals": {"s3:ExistingObjectTag/class": "red"}})
expect([gets(nobody, "secret"), gets(nobody)], ["ok", "AccessDenied"], "by the tag that is there")
expect(gets(nobody, "none"), "AccessDenied", "by the tag of what is not there")
root.put_object_tagging(Bucket=bucket, Key="secret", Tagging={"TagSet": []})
expect(gets(nobody, "secret"), "AccessDenied", "once the tag is gone")
conditions("Allow", {"StringEquals": {"s3:RequestObjectTag/class": ["blue", "green"]},
                     "ForAllValues:StringEquals": {"s3:RequestObjectTagKeys": ["class"]}}, ["s3:PutObject", "s3:PutObjectTagging"])
expect([puts(nobody, Tagging="class=blue"), puts(nobody, Tagging="class=red"), puts(nobody), puts(nobody, Tagging="class=blue&more=1")],
       ["ok"] + ["AccessDenied"] * 3, "by the tags that are set")
tags = lambda value: outcome(nobody.put_object_tagging, Bucket=bucket, Key="public/new", Tagging={"TagSet": [{"Key": "class", "Value": value}]})
expect([tags("green"), tags("red")], ["ok", "AccessDenied"], "by the tags of the body")
start = lambda **more: outcome(nobody.create_multipart_upload, Bucket=bucket, Key="public/parts", **more)
expect([start(Tagging="class=green"), start(Tagging="class=red")], ["ok", "AccessDenied"], "uploads in parts")
conditions("Allow", {"NumericLessThanEquals": {"s3:max-keys": "10"}}, "s3:ListBucket", arn)
expect([lists(nobody, MaxKeys=10), lists(nobody, MaxKeys=11), lists(nobody)], ["ok", "AccessDenied", "AccessDenied"], "max-keys")
conditions("Allow", {"StringLike": {"s3:prefix": "pub*/"}}, ["s3:ListBucket", "s3:ListBucketVersions"], arn)
expect([lists(nobody, Prefix="public/"), lists(nobody, Prefix="private/"), lists(nobody)], ["ok", "AccessDenied", "AccessDenied"], "prefix")
expect(outcome(nobody.list_object_versions, Bucket=bucket, Prefix="public/"), "ok", "prefix of versions")
conditions("Deny", {"StringNotEquals": {"s3:x-amz-storage-class": "STANDARD"}}, "s3:PutObject")
expect([puts(writer, StorageClass="STANDARD"), puts(writer)], ["ok", "AccessDenied"], "a header that has to be there")
conditions("Deny", {"Null": {"s3:RequestObjectTag/class": "true"}}, "s3:PutObject")
expect([puts(writer, Tagging="class=any"), puts(writer)], ["ok", "AccessDenied"], "a tag that has to be there")
conditions("Allow", {"DateLessThan": {"aws:CurrentTime": "2020-01-01T00:00:00Z"}})
expect(gets(nobody), "AccessDenied", "too late")
conditions("Allow", {"DateGreaterThan": {"aws:CurrentTime": "2020-01-01T00:00:00Z"}})
expect(gets(nobody), "ok", "late enough")
conditions("Allow", {"StringEquals": {"s3:x-amz-copy-source": f"{bucket}/public/a.txt"}}, "s3:PutObject")
copy = lambda source: outcome(reader.copy_object, Bucket=bucket, Key="copied", CopySource=f"{bucket}/{source}", TaggingDirective="REPLACE")
expect([copy("public/a.txt"), copy("private/b.txt"), puts(reader)], ["ok", "AccessDenied", "AccessDenied"], "copies of one object")
root.delete_bucket_policy(Bucket=bucket)
held("conditions on addresses, transport, tags, prefixes, sizes of pages, headers and times")

url = lambda who, **more: client(who, signature_version="s3v4").generate_presigned_url(
    "get_object", Params={"Bucket": bucket, "Key": "secret", **more}, ExpiresIn=60)


def fetched(address):
    try:
        return urllib.request.urlopen(address).status
    except urllib.error.HTTPError as error:
        return error.code


link = url(eve_keys)
expect(fetched(link), 403, "what its maker may not read")
admin("POST", "/policies/detach", {"group": f"staff-{suffix}", "policyNames": [no_secrets]})
expect(fetched(link), 200, "and then may")
admin("PATCH", f"/users/eve-{suffix}", {"status": "disabled"})
expect([fetched(link), gets(eve)], [403, "InvalidAccessKeyId"], "of who is disabled")
admin("PATCH", f"/users/eve-{suffix}", {"status": "enabled"})
held("presigned addresses have the rights that their maker has when they are used")


def session(keys, **more):
    made = client(keys, "sts").assume_role(RoleArn="arn:aws:iam::000000000000:role/any", RoleSessionName="test", **more)["Credentials"]
    return {"aws_access_key_id": made["AccessKeyId"], "aws_secret_access_key": made["SecretAccessKey"],
            "aws_session_token": made["SessionToken"]}


limit = lambda action, resource: json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, "Resource": resource}]})
whole = session(eve_keys)
expect([gets(client(whole)), puts(client(whole))], ["ok", "ok"], "a session without a policy")
part = session(eve_keys, Policy=limit("s3:GetObject", f"{arn}/public/*"))
expect([gets(client(part)), puts(client(part)), gets(client(part), "private/b.txt")], ["ok", "AccessDenied", "AccessDenied"], "with one")
wider = session(user("late", may_read), Policy=limit("s3:*", "*"))
expect([gets(client(wider)), puts(client(wider))], ["ok", "AccessDenied"], "a session gives nothing that its maker has not")
of_root = session({}, Policy=limit("s3:GetObject", f"{arn}/secret"))
expect([gets(client(of_root), "secret"), gets(client(of_root)), outcome(client(of_root).list_buckets)], ["ok", "AccessDenied", "ok"], "root's")
expect(client(of_root).list_buckets()["Buckets"], [], "and it sees no bucket")
expect(outcome(client(part, "sts").assume_role, RoleArn="arn:aws:iam::000000000000:role/any", RoleSessionName="again"), "AccessDenied", "again")
who = client(eve_keys, "sts").get_caller_identity()
assert who["Arn"].endswith(f"user/eve-{suffix}"), who["Arn"]
forged = dict(part, aws_session_token=part["aws_session_token"][:-8] + "AAAAAAAA")
expect(gets(client(forged)), "InvalidToken", "a forged token")
expect(gets(client({**part, "aws_session_token": whole["aws_session_token"]})), "InvalidToken", "the token of another session")
bucket_policy({"Effect": "Deny", "Principal": {"AWS": f"arn:aws:iam:::user/eve-{suffix}"}, "Action": "s3:GetObject", "Resource": f"{arn}/*"})
expect(gets(client(whole)), "AccessDenied", "what is denied to its maker is denied to the session")
root.delete_bucket_policy(Bucket=bucket)
admin("DELETE", f"/users/eve-{suffix}")
expect([gets(client(whole)), gets(eve)], ["InvalidToken", "InvalidAccessKeyId"], "when its maker is gone")
held("sessions have what their maker and their policy both allow, for as long as there is a maker")
