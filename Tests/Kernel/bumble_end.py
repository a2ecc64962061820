"""One end of Bluetooth that is not BlueZ: PyPI's bumble on a controller of its own, which passes the bytes of an RFCOMM channel
to a unix socket and back. What speaks iAP2 is an easim at that socket.

  bumble_end.py accessory SOCKET         is an accessory: visible, pairable, its service connected to SOCKET
  bumble_end.py device SOCKET ADDRESS    listens on SOCKET; for whoever connects there it dials the accessory at ADDRESS
  bumble_end.py redial COUNT ADDRESS     dials the accessory at ADDRESS again as soon as the connection is closed, COUNT times
                                         for each way to close it, and says whether the accessory answered

It says "ready" when the other end may begin, and what it did on the way.
"""
import asyncio
import sys
import time

from bumble import core, rfcomm
from bumble.device import Device, DeviceConfiguration
from bumble.hci import Address
from bumble.host import Host
from bumble.keys import MemoryKeyStore
from bumble.transport.hci_socket import open_hci_socket_transport

ACCESSORY = core.UUID("00000000-deca-fade-deca-deafdecacaff")
CHANNEL = 5


def say(text):
    print(text, flush=True)


def join(dlc, reader, writer):
    """Passes bytes both ways until the socket ends."""
    dlc.sink = writer.write
    dlc.on(dlc.EVENT_CLOSE, writer.close)

    async def send():
        while data := await reader.read(4096):
            dlc.write(data)
            await dlc.drain()
        if dlc.state == rfcomm.DLC.State.CONNECTED:
            await dlc.disconnect()
        say("the socket ended")

    return asyncio.create_task(send())


async def be_accessory(device, path):
    tasks = set()

    async def serve(dlc):
        reader, writer = await asyncio.open_unix_connection(path)
        await join(dlc, reader, writer)

    def accept(dlc):
        say("connected")
        task = asyncio.create_task(serve(dlc))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    rfcomm.Server(device).listen(accept, channel=CHANNEL)
    device.sdp_service_records = {0x10001: rfcomm.make_service_sdp_records(0x10001, CHANNEL, ACCESSORY)}
    device.inquiry_response = bytes(
        core.AdvertisingData(
            [
                (core.AdvertisingData.COMPLETE_LOCAL_NAME, b"bumble's accessory"),
                (core.AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(ACCESSORY)),
            ]
        )
    )
    await device.power_on()
    await device.set_discoverable(True)
    await device.set_connectable(True)
    say("ready")
    await asyncio.get_running_loop().create_future()


async def be_device(device, path, address):
    await device.power_on()
    connection = None

    async def dial(reader, writer):
        nonlocal connection
        if connection is None:
            there = Address(address, Address.PUBLIC_DEVICE_ADDRESS)
            connection = await device.connect(there, transport=core.PhysicalTransport.BR_EDR)
            say("connected")
            await connection.authenticate()
            say("paired")
            await connection.encrypt()
        channel = await rfcomm.find_rfcomm_channel_with_uuid(connection, ACCESSORY)
        say(f"the service is on channel {channel}")
        client = rfcomm.Client(connection)
        multiplexer = await client.start()
        dlc = await multiplexer.open_dlc(channel)
        say("opened")
        await join(dlc, reader, writer)
        await client.shutdown()

    await asyncio.start_unix_server(dial, path)
    say("ready")
    await asyncio.get_running_loop().create_future()


async def close(way, client, dlc):
    """Closes a connection in one of several ways, and returns whether the multiplexer may be used again."""
    if way == "channel":
        await dlc.disconnect()
    elif way == "hurried":
        # The next request follows without waiting for the answer to this one.
        dlc.send_frame(rfcomm.RFCOMM_Frame.disc(c_r=dlc.c_r, dlci=dlc.dlci))
        client.multiplexer.on_dlc_disconnection(dlc)
    elif way == "multiplexer":
        await dlc.disconnect()
        # The accessory's end then closes the L2CAP channel.
        await client.multiplexer.disconnect()
    else:
        await client.l2cap_channel.disconnect()
    return way in ("channel", "hurried")


async def redial(device, count, address):
    await device.power_on()
    say("ready")
    there = Address(address, Address.PUBLIC_DEVICE_ADDRESS)
    connection = await device.connect(there, transport=core.PhysicalTransport.BR_EDR)
    await connection.authenticate()
    await connection.encrypt()
    channel = await rfcomm.find_rfcomm_channel_with_uuid(connection, ACCESSORY)
    for way in ("channel", "hurried", "multiplexer", "l2cap"):
        client = None
        for number in range(int(count)):
            begin = time.monotonic()
            step = "multiplexer"
            try:
                async with asyncio.timeout(10):
                    if client is None:
                        client = rfcomm.Client(connection)
                        await client.start()
                    step = "connection"
                    dlc = await client.multiplexer.open_dlc(channel)
                    # Every third connection is closed immediately, when the accessory may not know of it yet.
                    if number % 3 != 1:
                        step = "answer"
                        answer = asyncio.Event()
                        dlc.sink = lambda data, answer=answer: answer.set()
                        dlc.write(bytes.fromhex("FF550200EE10"))
                        await answer.wait()
                    step = "end"
                    if not await close(way, client, dlc):
                        client = None
                say(f"{way} {number}: {time.monotonic() - begin:.3f} s")
            except Exception as error:  # pylint: disable=broad-except
                say(f"{way} {number}: no {step} ({error!r})")
                client = None
    say("done")


async def main():
    role, path, *rest = sys.argv[1:]
    transport = await open_hci_socket_transport("1")
    config = DeviceConfiguration(name="bumble's accessory", classic_enabled=True, le_enabled=False)
    device = Device(config=config, host=Host(transport.source, transport.sink))
    device.keystore = MemoryKeyStore()
    if role == "accessory":
        await be_accessory(device, path)
    elif role == "redial":
        await redial(device, path, *rest)
    else:
        await be_device(device, path, *rest)


asyncio.run(main())
