#!/usr/bin/env python3
"""Writes places.csv from published tables of cloud regions.

    pip download --no-deps cloud-regions-info==1.0.1 && python3 -m zipfile -e cloud_regions_info-*.whl regions
    make_places.py regions/cloud_regions_info/mappings intercloud-locations.csv > places.csv

Sources, by the word in the column `source`:
    cri          cloud-regions-info 1.0.1 (PyPI, MIT)
    intercloud   doitintl/intercloud-throughput, region_data/locations.csv (Apache-2.0)
    gazetteer    dohnto/k8s-geomap-dashboard, gazetteer/oracle.json and azure.json (Apache-2.0)
    town         coordinates of the town that the provider's own list of regions names

A town comes before the other sources: where a provider names one, a table that has the middle of a state or
country is wrong by up to some hundred kilometres. Then cri, gazetteer, intercloud. What the sources that were not taken
say is kept in `others`, with the distance in kilometres from what was taken.
"""
import csv
import json
import math
import sys

# Oracle's regions in the gazetteer; of Azure's those that differ from cri.
GAZETTEER = {
    "oracle": """ap-sydney-1 -33.8678 151.2100 Sydney AU; ap-melbourne-1 -37.8142 144.9631 Melbourne AU
sa-saopaulo-1 -23.5500 -46.6333 São_Paulo BR; sa-vinhedo-1 -23.0300 -46.9750 Vinhedo BR
ca-montreal-1 45.5089 -73.5542 Montreal CA; ca-toronto-1 43.7417 -79.3733 Toronto CA
sa-santiago-1 -33.4375 -70.6500 Santiago CL; sa-bogota-1 4.7111 -74.0722 Bogotá CO
eu-paris-1 48.8567 2.3522 Paris FR; eu-marseille-1 43.2964 5.3700 Marseille FR
eu-frankfurt-1 50.1106 8.6822 Frankfurt DE; ap-hyderabad-1 17.3617 78.4747 Hyderabad IN
ap-mumbai-1 19.0761 72.8775 Mumbai IN; il-jerusalem-1 31.7789 35.2256 Jerusalem IL
eu-milan-1 45.4669 9.1900 Milan IT; ap-osaka-1 34.6939 135.5022 Osaka JP
ap-tokyo-1 35.6897 139.6922 Tokyo JP; mx-queretaro-1 20.5833 -100.3833 Querétaro MX
mx-monterrey-1 25.6667 -100.3000 Monterrey MX; eu-amsterdam-1 52.3728 4.8936 Amsterdam NL
me-jeddah-1 21.5433 39.1728 Jeddah SA; eu-jovanovac-1 43.3439 21.6811 Jovanovac RS
ap-singapore-1 1.2833 103.8333 Singapore SG; af-johannesburg-1 -26.2044 28.0456 Johannesburg ZA
ap-seoul-1 37.5600 126.9900 Seoul KR; ap-chuncheon-1 37.8667 127.7333 Chuncheon KR
eu-madrid-1 40.4169 -3.7033 Madrid ES; eu-stockholm-1 59.3294 18.0686 Stockholm SE
eu-zurich-1 47.3744 8.5411 Zurich CH; me-abudhabi-1 24.4667 54.3667 Abu_Dhabi AE
me-dubai-1 25.2631 55.2972 Dubai AE; uk-london-1 51.5072 -0.1275 London GB
uk-cardiff-1 51.5886 -2.9978 Newport GB; us-ashburn-1 44.0025 -78.9953 Ashburn US
us-chicago-1 41.8819 -87.6278 Chicago US; us-phoenix-1 33.4483 -112.0739 Phoenix US
us-sanjose-1 37.3361 -121.8906 San_Jose US""",
    "azure": """qatarcentral 25.5515 51.4393 Doha QA; israelcentral 31.2656 33.4507 Jerusalem IL
polandcentral 52.2333 21.0167 Warsaw PL; southafricawest -34.0757 18.8433 Cape_Town ZA
italynorth 45.4689 9.1811 Milan IT; jioindiawest 22.4707 70.0577 Jamnagar IN
jioindiacentral 21.1466 79.0889 Nagpur IN""",
}

# The town that the provider names: https://cloud.google.com/compute/docs/regions-zones,
# https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html
TOWN = {
    "gcp": """us-central1 41.2619 -95.8608 Council_Bluffs US; us-east1 33.1960 -80.0131 Moncks_Corner US
us-east4 39.0438 -77.4874 Ashburn US; us-east5 39.9612 -82.9988 Columbus US; us-south1 32.7767 -96.7970 Dallas US
us-west1 45.5946 -121.1787 The_Dalles US; europe-west1 50.4714 3.8186 Saint-Ghislain BE
europe-west4 53.4386 6.8355 Eemshaven NL; europe-north1 60.5693 27.1878 Hamina FI
europe-southwest1 40.4169 -3.7033 Madrid ES; europe-west10 52.5200 13.4050 Berlin DE
europe-west12 45.0703 7.6869 Turin IT; europe-central2 52.2297 21.0122 Warsaw PL
asia-east1 24.0718 120.5624 Changhua TW; me-central1 25.2854 51.5310 Doha QA; me-central2 26.4207 50.0888 Dammam SA
northamerica-northeast1 45.5089 -73.5617 Montréal CA; northamerica-northeast2 43.6532 -79.3832 Toronto CA
southamerica-east1 -23.5325 -46.7917 Osasco BR""",
    "aws": """ca-central-1 45.5089 -73.5617 Montréal CA; ca-west-1 51.0447 -114.0719 Calgary CA
ap-southeast-5 3.1390 101.6869 Kuala_Lumpur MY; ap-southeast-7 13.7563 100.5018 Bangkok TH
ap-east-2 25.0330 121.5654 Taipei TW; mx-central-1 20.5888 -100.3899 Querétaro MX""",
}

# cri has the middle of the country for these.
INTERCLOUD_FIRST = {("aws", "us-gov-east-1"), ("aws", "us-gov-west-1")}
# cri has Mumbai and Pune for these, which are Azure's West India and Central India.
GAZETTEER_FIRST = {("azure", "jioindiawest"), ("azure", "jioindiacentral")}
# Not regions that machines can be in: staging, and a name that Azure's list does not have.
LEFT_OUT = {("azure", "southeastasiastandard"), ("oracle", "us-sanjose-2")}

COUNTRY = {
    "United States": "US", "South Africa": "ZA", "Hong Kong": "HK", "India": "IN", "Singapore": "SG", "Australia": "AU",
    "Japan": "JP", "South Korea": "KR", "Canada": "CA", "Germany": "DE", "Ireland": "IE", "United Kingdom": "GB",
    "France": "FR", "Sweden": "SE", "Italy": "IT", "United Arab Emirates": "AE", "Bahrain": "BH", "Brazil": "BR",
    "Indonesia": "ID", "Spain": "ES", "Switzerland": "CH", "Israel": "IL", "China": "CN", "Belgium": "BE",
    "Netherlands": "NL", "Finland": "FI", "Taiwan": "TW", "Chile": "CL", "Norway": "NO", "Qatar": "QA", "Poland": "PL",
    "Malaysia": "MY", "Mexico": "MX", "Saudi Arabia": "SA",
}
AREA = {
    "na": "US CA MX", "sa": "BR CL CO", "eu": "DE IE GB FR SE IT ES CH BE NL FI NO PL RS",
    "as": "HK IN SG JP KR ID CN TW MY TH", "oc": "AU", "me": "AE BH IL QA SA", "af": "ZA",
}
AREA_OF = {country: area for area, countries in AREA.items() for country in countries.split()}
# Cities of cri's entries whose location is a region's name rather than a city.
CITY = {
    "aws": {"us-east-1": "Ashburn", "us-east-2": "Columbus", "us-west-1": "San José", "us-west-2": "Portland",
            "us-gov-east-1": "", "us-gov-west-1": "", "me-central-1": "Dubai", "me-south-1": "Manama",
            "eu-west-1": "Dublin", "eu-south-2": "Madrid"},
    "gcp": {"asia-southeast1": "Singapore"},
}


def kilometres(one, other):
    a, b, c, d = map(math.radians, (*one, *other))
    h = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * 6371.0088 * math.asin(math.sqrt(h))


def table(text):
    for entry in text.replace("\n", ";").split(";"):
        region, latitude, longitude, city, country = entry.split()
        yield region, (float(latitude), float(longitude)), city.replace("_", " "), country


def city_of(cloud, region, location):
    if region in CITY.get(cloud, {}):
        return CITY[cloud][region]
    if cloud == "azure":
        return ""
    return location.split("(")[-1].rstrip(")").split(",")[0]


def gather(mappings, locations):
    places = {}

    def add(cloud, region, source, point, city="", country="", name=""):
        if (cloud, region) in LEFT_OUT:
            return
        place = places.setdefault((cloud, region), {"name": "", "city": "", "country": "", "points": {}})
        place["points"][source] = point
        for key, value in (("name", name), ("city", city), ("country", country)):
            place[key] = place[key] or value

    for source, clouds in (("town", TOWN), ("gazetteer", GAZETTEER)):
        for cloud, text in clouds.items():
            for region, point, city, country in table(text):
                add(cloud, region, source, point, city, country)
    for cloud, file in (("aws", "aws"), ("gcp", "gcp"), ("azure", "azure"), ("oracle", "oci")):
        with open(f"{mappings}/{file}_regions.json", encoding="utf-8") as opened:
            for region, entry in json.load(opened).items():
                point = (round(entry["latitude"], 4), round(entry["longitude"], 4))
                location = entry["location"]
                add(cloud, region, "cri", point, city_of(cloud, region, location), COUNTRY[entry["country"]], location)
    with open(locations, encoding="utf-8") as opened:
        for row in csv.DictReader(opened):
            key = (row["cloud"].lower(), row["region"])
            if key in places:
                add(*key, "intercloud", (float(row["latitude"]), float(row["longitude"])))
    return places


def main():
    places = gather(sys.argv[1], sys.argv[2])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("cloud region name city country area latitude longitude source others".split())
    for (cloud, region), place in sorted(places.items()):
        points = place["points"]
        order = ["town", "cri", "gazetteer", "intercloud"]
        if (cloud, region) in INTERCLOUD_FIRST:
            order.insert(0, "intercloud")
        if (cloud, region) in GAZETTEER_FIRST:
            order.insert(0, "gazetteer")
        source = next(name for name in order if name in points)
        taken = points[source]
        others = [
            f"{name} {point[0]} {point[1]} {kilometres(taken, point):.0f}km"
            for name, point in points.items()
            if name != source
        ]
        out.writerow([cloud, region, place["name"] or place["city"], place["city"], place["country"],
                      AREA_OF[place["country"]], *taken, source, "; ".join(others)])


main()
