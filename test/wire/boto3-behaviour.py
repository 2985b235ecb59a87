"""boto3 against a running server: `boto3-behaviour.py ENDPOINT SUFFIX`. Prints one line for each behaviour that held; raises otherwise."""

import datetime
import hashlib
import io
import sys
import threading
import urllib.error
import urllib.request

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

endpoint = sys.argv[1]
config = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1})
s3 = boto3.client("s3", endpoint_url=endpoint, config=config)
bucket = "boto3-" + sys.argv[2]


def held(what):
    print("held:", what, flush=True)


def refused(code, call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        seen = error.response["Error"]["Code"]
        assert seen == code, f"expected {code}, got {seen}"
        assert error.response["ResponseMetadata"]["RequestId"], "no request id"
        return error.response
    raise AssertionError(f"{code} expected, but the call succeeded")


s3.create_bucket(Bucket=bucket)
assert bucket in [b["Name"] for b in s3.list_buckets()["Buckets"]]
s3.head_bucket(Bucket=bucket)
refused("404", s3.head_bucket, Bucket="no-such-bucket-here")
held("a bucket is made and found")

put = s3.put_object(
    Bucket=bucket, Key="a/ü 1.txt", Body=b"hello world", ContentType="text/plain; charset=utf-8",
    CacheControl="max-age=60", ContentDisposition='attachment; filename="x"', Metadata={"one": "1", "two-words": "a b"},
)
assert put["ETag"] == '"5eb63bbbe01eeed093cb22bb8f5acdc3"', put["ETag"]
got = s3.get_object(Bucket=bucket, Key="a/ü 1.txt")
assert got["Body"].read() == b"hello world"
assert got["ContentType"] == "text/plain; charset=utf-8" and got["CacheControl"] == "max-age=60"
assert got["ContentDisposition"] == 'attachment; filename="x"'
assert got["Metadata"] == {"one": "1", "two-words": "a b"}, got["Metadata"]
held("an object comes back with all that was said of it")

part = s3.get_object(Bucket=bucket, Key="a/ü 1.txt", Range="bytes=-5")
assert part["Body"].read() == b"world" and part["ContentRange"] == "bytes 6-10/11"
assert part["ResponseMetadata"]["HTTPStatusCode"] == 206
refused("InvalidRange", s3.get_object, Bucket=bucket, Key="a/ü 1.txt", Range="bytes=99-")
refused("PreconditionFailed", s3.get_object, Bucket=bucket, Key="a/ü 1.txt", IfMatch='"0"')
refused("304", s3.get_object, Bucket=bucket, Key="a/ü 1.txt", IfNoneMatch=put["ETag"])
refused("NoSuchKey", s3.get_object, Bucket=bucket, Key="a")
held("ranges and conditions")

data = hashlib.shake_256(b"boto3").digest(23_000_000)
transfer = TransferConfig(multipart_threshold=6 << 20, multipart_chunksize=5 << 20, max_concurrency=4)
s3.upload_fileobj(io.BytesIO(data), bucket, "large", Config=transfer)
back = io.BytesIO()
s3.download_fileobj(bucket, "large", back, Config=transfer)
assert hashlib.sha256(back.getvalue()).digest() == hashlib.sha256(data).digest()
assert s3.head_object(Bucket=bucket, Key="large")["ETag"].endswith('-5"')
held("a managed transfer in parts comes back whole")

upload = s3.create_multipart_upload(Bucket=bucket, Key="by-hand")["UploadId"]
parts = []
for number, piece in ((1, data[: 5 << 20]), (3, data[5 << 20: 6 << 20])):
    answer = s3.upload_part(Bucket=bucket, Key="by-hand", UploadId=upload, PartNumber=number, Body=piece)
    parts.append({"PartNumber": number, "ETag": answer["ETag"]})
copied = s3.upload_part_copy(
    Bucket=bucket, Key="by-hand", UploadId=upload, PartNumber=4, CopySource={"Bucket": bucket, "Key": "a/ü 1.txt"},
    CopySourceRange="bytes=0-4",
)
parts.append({"PartNumber": 4, "ETag": copied["CopyPartResult"]["ETag"]})
listed = s3.list_parts(Bucket=bucket, Key="by-hand", UploadId=upload)["Parts"]
assert [(p["PartNumber"], p["Size"]) for p in listed] == [(1, 5 << 20), (3, 1 << 20), (4, 5)]
assert [u["UploadId"] for u in s3.list_multipart_uploads(Bucket=bucket)["Uploads"]] == [upload]
refused("EntityTooSmall", s3.complete_multipart_upload, Bucket=bucket, Key="by-hand", UploadId=upload,
        MultipartUpload={"Parts": parts})
refused("InvalidPartOrder", s3.complete_multipart_upload, Bucket=bucket, Key="by-hand", UploadId=upload,
        MultipartUpload={"Parts": [parts[1], parts[0]]})
refused("NoSuchKey", s3.get_object, Bucket=bucket, Key="by-hand")
s3.complete_multipart_upload(Bucket=bucket, Key="by-hand", UploadId=upload, MultipartUpload={"Parts": parts[:2]})
assert s3.get_object(Bucket=bucket, Key="by-hand")["Body"].read() == data[: 6 << 20]
assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)
aborted = s3.create_multipart_upload(Bucket=bucket, Key="never")["UploadId"]
s3.upload_part(Bucket=bucket, Key="never", UploadId=aborted, PartNumber=1, Body=b"x")
s3.abort_multipart_upload(Bucket=bucket, Key="never", UploadId=aborted)
refused("NoSuchUpload", s3.list_parts, Bucket=bucket, Key="never", UploadId=aborted)
held("parts by hand: gaps, copies, refusals, completion, abort")

s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "a/ü 1.txt"})
assert s3.head_object(Bucket=bucket, Key="copy")["Metadata"] == {"one": "1", "two-words": "a b"}
s3.copy_object(Bucket=bucket, Key="copy", CopySource=f"{bucket}/copy", MetadataDirective="REPLACE", Metadata={"new": "3"})
assert s3.head_object(Bucket=bucket, Key="copy")["Metadata"] == {"new": "3"}
refused("InvalidRequest", s3.copy_object, Bucket=bucket, Key="copy", CopySource=f"{bucket}/copy")
held("copies keep or replace metadata, and a copy onto itself must change something")

keys = [f"list/{n:03d}" for n in range(120)] + [f"list/sub{n}/x" for n in range(7)]
threads = [threading.Thread(target=lambda mine: [s3.put_object(Bucket=bucket, Key=k) for k in mine], args=(keys[n::8],))
           for n in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix="list/", PaginationConfig={"PageSize": 25})
assert [o["Key"] for page in pages for o in page.get("Contents", [])] == sorted(keys)
pages = list(s3.get_paginator("list_objects").paginate(Bucket=bucket, Prefix="list/", Delimiter="/",
                                                       PaginationConfig={"PageSize": 50}))
assert [p["Prefix"] for page in pages for p in page.get("CommonPrefixes", [])] == [f"list/sub{n}/" for n in range(7)]
assert sum(len(page.get("Contents", [])) for page in pages) == 120 and len(pages) == 3
held("listings page by page, both versions, each prefix once")

answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": k} for k in keys] + [{"Key": "never there"}]})
assert len(answer["Deleted"]) == len(keys) + 1 and "Errors" not in answer
quiet = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "copy"}], "Quiet": True})
assert "Deleted" not in quiet
held("many deletes in one request")

# Without a signature version boto3 presigns in the old form, which is not served.
v4 = boto3.client("s3", endpoint_url=endpoint, config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
url = v4.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "presigned"}, ExpiresIn=60)
assert urllib.request.urlopen(urllib.request.Request(url, b"by url", method="PUT")).status == 200
url = v4.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "presigned"}, ExpiresIn=60)
assert urllib.request.urlopen(url).read() == b"by url"
try:
    urllib.request.urlopen(url.replace("presigned?", "large?"))
    raise AssertionError("a changed address was served")
except urllib.error.HTTPError as error:
    assert error.code == 403
held("presigned addresses")

vault = bucket + "-vault"
s3.create_bucket(Bucket=vault, ObjectLockEnabledForBucket=True)
first = s3.put_object(Bucket=vault, Key="k", Body=b"one", Tagging="a=1&b=x%20y")["VersionId"]
second = s3.put_object(Bucket=vault, Key="k", Body=b"two")["VersionId"]
assert s3.get_object(Bucket=vault, Key="k", VersionId=first)["Body"].read() == b"one"
marker = s3.delete_object(Bucket=vault, Key="k")
assert marker["DeleteMarker"] is True
refused("NoSuchKey", s3.get_object, Bucket=vault, Key="k")
seen = [(v["VersionId"], v["IsLatest"]) for p in s3.get_paginator("list_object_versions").paginate(
    Bucket=vault, PaginationConfig={"PageSize": 1}) for v in p.get("DeleteMarkers", []) + p.get("Versions", [])]
assert seen == [(marker["VersionId"], True), (second, False), (first, False)], seen
s3.delete_object(Bucket=vault, Key="k", VersionId=marker["VersionId"])
assert s3.get_object(Bucket=vault, Key="k")["Body"].read() == b"two"
held("versions and delete markers")

assert s3.get_object_tagging(Bucket=vault, Key="k", VersionId=first)["TagSet"] == [
    {"Key": "a", "Value": "1"}, {"Key": "b", "Value": "x y"}]
s3.put_object_tagging(Bucket=vault, Key="k", Tagging={"TagSet": [{"Key": "c", "Value": "3"}]})
assert s3.get_object(Bucket=vault, Key="k")["TagCount"] == 1
held("tags of versions")

s3.put_object_legal_hold(Bucket=vault, Key="k", VersionId=first, LegalHold={"Status": "ON"})
refused("AccessDenied", s3.delete_object, Bucket=vault, Key="k", VersionId=first)
s3.put_object_legal_hold(Bucket=vault, Key="k", VersionId=first, LegalHold={"Status": "OFF"})
until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
s3.put_object_retention(Bucket=vault, Key="k", VersionId=second, Retention={"Mode": "GOVERNANCE", "RetainUntilDate": until})
refused("AccessDenied", s3.delete_object, Bucket=vault, Key="k", VersionId=second)
for version in (first, second):
    s3.delete_object(Bucket=vault, Key="k", VersionId=version, BypassGovernanceRetention=True)
s3.delete_bucket(Bucket=vault)
held("locks")

media = bucket + "-media"
s3.create_bucket(Bucket=media, ObjectOwnership="BucketOwnerPreferred")
s3.put_object(Bucket=media, Key="avatar", Body=b"for everybody", ACL="public-read")
s3.put_object(Bucket=media, Key="draft", Body=b"for nobody")


def stranger(key):
    try:
        return urllib.request.urlopen(f"{endpoint}/{media}/{key}").read()
    except urllib.error.HTTPError as error:
        return error.code


assert [stranger("avatar"), stranger("draft")] == [b"for everybody", 403]
s3.put_object_acl(Bucket=media, Key="draft", ACL="public-read")
grants = s3.get_object_acl(Bucket=media, Key="draft")["Grants"]
assert [g["Permission"] for g in grants] == ["FULL_CONTROL", "READ"], grants
assert grants[1]["Grantee"]["URI"] == "http://acs.amazonaws.com/groups/global/AllUsers", grants
assert stranger("draft") == b"for nobody"
for flag in ("IgnorePublicAcls", "BlockPublicAcls"):
    s3.put_public_access_block(Bucket=media, PublicAccessBlockConfiguration={flag: True})
    assert stranger("avatar") == (403 if flag == "IgnorePublicAcls" else b"for everybody")
refused("AccessDenied", s3.put_object, Bucket=media, Key="avatar", Body=b"x", ACL="public-read")
s3.delete_public_access_block(Bucket=media)
s3.put_bucket_acl(Bucket=media, ACL="public-read")
for key in ("avatar", "draft"):
    s3.delete_object(Bucket=media, Key=key)
s3.delete_bucket(Bucket=media)
held("canned access control lists")

refused("BucketNotEmpty", s3.delete_bucket, Bucket=bucket)
for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": o["Key"]} for o in page.get("Contents", [])]})
s3.delete_bucket(Bucket=bucket)
refused("NoSuchBucket", s3.list_objects_v2, Bucket=bucket)
held("an emptied bucket goes")
