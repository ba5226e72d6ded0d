"""Reads a request of `weir watch --otlp` with the classes that OpenTelemetry generates from its protocol: names that it does not have,
and values of other types, are errors. Needs the packages opentelemetry-proto and protobuf.

    python3 check_otlp.py < request.json
"""

import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

request = json_format.Parse(sys.stdin.read(), ExportMetricsServiceRequest())
for resource in request.resource_metrics:
    names = {one.key: one.value.string_value for one in resource.resource.attributes}
    print(names)
    for scope in resource.scope_metrics:
        for metric in scope.metrics:
            kind = metric.WhichOneof("data")
            points = getattr(metric, kind).data_points
            if kind == "histogram":
                for point in points:
                    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1, metric.name
                    assert sum(point.bucket_counts) == point.count, metric.name
            if kind in ("sum", "histogram"):
                assert getattr(metric, kind).aggregation_temporality == 2, metric.name
            print(metric.name, metric.unit, kind, len(points))
