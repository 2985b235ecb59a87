#!/usr/bin/python3
"""Brokers that speak the protocol of Kafka, from librdkafka. Prints their addresses, then an answer to each line of stdin:
topic NAME PARTITIONS | down ID | up ID | rtt ID MS | leader TOPIC PARTITION ID | errors API_KEY CODE... | fail TOPIC CODE
Ends with stdin."""
import ctypes
import sys

lib = ctypes.CDLL("librdkafka.so.1")
pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
for name, result, parameters in [
    ("rd_kafka_conf_new", pointer, []),
    ("rd_kafka_new", pointer, [number, pointer, text, ctypes.c_size_t]),
    ("rd_kafka_mock_cluster_new", pointer, [pointer, number]),
    ("rd_kafka_mock_cluster_bootstraps", text, [pointer]),
    ("rd_kafka_mock_topic_create", number, [pointer, text, number, number]),
    ("rd_kafka_mock_broker_set_down", number, [pointer, ctypes.c_int32]),
    ("rd_kafka_mock_broker_set_up", number, [pointer, ctypes.c_int32]),
    ("rd_kafka_mock_broker_set_rtt", number, [pointer, ctypes.c_int32, number]),
    ("rd_kafka_mock_partition_set_leader", number, [pointer, text, ctypes.c_int32, ctypes.c_int32]),
    ("rd_kafka_mock_topic_set_error", None, [pointer, text, number]),
    ("rd_kafka_mock_push_request_errors_array", None, [pointer, ctypes.c_int16, ctypes.c_size_t, ctypes.POINTER(number)]),
]:
    function = getattr(lib, name)
    function.restype, function.argtypes = result, parameters

count = int(sys.argv[1])
error = ctypes.create_string_buffer(512)
client = lib.rd_kafka_new(0, lib.rd_kafka_conf_new(), error, 512)
cluster = lib.rd_kafka_mock_cluster_new(client, count)
print(lib.rd_kafka_mock_cluster_bootstraps(cluster).decode(), flush=True)

for line in sys.stdin:
    command, *words = line.split()
    if command == "topic":
        answer = lib.rd_kafka_mock_topic_create(cluster, words[0].encode(), int(words[1]), count)
    elif command == "down":
        answer = lib.rd_kafka_mock_broker_set_down(cluster, int(words[0]))
    elif command == "up":
        answer = lib.rd_kafka_mock_broker_set_up(cluster, int(words[0]))
    elif command == "rtt":
        answer = lib.rd_kafka_mock_broker_set_rtt(cluster, int(words[0]), int(words[1]))
    elif command == "leader":
        answer = lib.rd_kafka_mock_partition_set_leader(cluster, words[0].encode(), int(words[1]), int(words[2]))
    elif command == "errors":
        codes = [int(word) for word in words[1:]]
        lib.rd_kafka_mock_push_request_errors_array(cluster, int(words[0]), len(codes), (number * len(codes))(*codes))
        answer = 0
    elif command == "fail":
        lib.rd_kafka_mock_topic_set_error(cluster, words[0].encode(), int(words[1]))
        answer = 0
    else:
        answer = -1
    print(answer, flush=True)
