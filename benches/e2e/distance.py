#!/usr/bin/env python3
"""Puts a server further away: a TCP proxy that hands everything on half a round trip later, in both directions, and lets
the first byte of a connection wait for the round trip that its handshake would take.

    distance.py LISTEN_PORT SERVER_PORT RTT_MS     all on loopback; says "ready" when it listens
"""

import asyncio
import sys

# What may be on its way in one direction of a connection: more than rate x round trip.
IN_FLIGHT = 16 << 20
PIECE = 256 << 10


async def carry(reader, writer, delay, opened):
    """Two halves, so that reading goes on while what was read waits for its time."""
    loop = asyncio.get_running_loop()
    queue = asyncio.Queue(IN_FLIGHT // PIECE)

    async def read():
        while True:
            piece = await reader.read(PIECE)
            await queue.put((max(loop.time(), opened) + delay, piece))
            if not piece:
                return

    reading = asyncio.create_task(read())
    try:
        while True:
            due, piece = await queue.get()
            wait = due - loop.time()
            if wait > 0:
                await asyncio.sleep(wait)
            if not piece:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            writer.write(piece)
            await writer.drain()
    finally:
        reading.cancel()


async def connection(near_reader, near_writer, port, rtt):
    opened = asyncio.get_running_loop().time() + rtt
    try:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    except OSError:
        near_writer.close()
        return
    ways = [
        asyncio.create_task(carry(near_reader, far_writer, rtt / 2, opened)),
        asyncio.create_task(carry(far_reader, near_writer, rtt / 2, opened)),
    ]
    # A client that has gone needs nothing any more; a server that has said all ends the connection too.
    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    if not ways[1].done():
        await asyncio.wait(ways, timeout=5)
    for way in ways:
        way.cancel()
    for writer in (near_writer, far_writer):
        writer.close()


async def main(listen, port, rtt):
    handler = lambda reader, writer: connection(reader, writer, port, rtt)
    server = await asyncio.start_server(handler, "127.0.0.1", listen, limit=1 << 20, backlog=1024)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    # Connections that break off are the business of those who measure.
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000))
