# The classes and options of Weir's workers, for a Locust master. The work is done by 'weir load --locust-master HOST:5557';
# this file only tells the master what there is.
from locust import User, constant, events, task


@events.init_command_line_parser.add_listener
def options(parser):
    parser.add_argument("--weir-dash", default="", help="Address of an MPD, for WeirDash [default: the host]")
    parser.add_argument("--weir-hls", default="", help="Address of a playlist, for WeirHls [default: the host]")
    parser.add_argument("--weir-play", default="loop", choices=["loop", "real-time", "random", "manifest"])
    parser.add_argument("--weir-rung", default="highest", choices=["highest", "lowest", "random", "abr"])


class WeirDash(User):
    wait_time = constant(1)

    @task
    def play(self):
        raise NotImplementedError("WeirDash is played by 'weir load --locust-master'")


class WeirHls(User):
    wait_time = constant(1)

    @task
    def play(self):
        raise NotImplementedError("WeirHls is played by 'weir load --locust-master'")
