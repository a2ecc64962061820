"""One end of Bluetooth that is not BlueZ: PyPI's bumble on a controller of its own, which passes the bytes of an RFCOMM channel
to a unix socket and back. What speaks iAP2 is an easim at that socket.

  bumble_end.py accessory SOCKET         is an accessory: visible, pairable, its service connected to SOCKET
  bumble_end.py device SOCKET ADDRESS    listens on SOCKET; for whoever connects there it dials the accessory at ADDRESS
  bumble_end.py redial FILE ADDRESS      once FILE exists, dials the accessory at ADDRESS again and again

It says "ready" when the other end may begin, and what it did on the way.
"""
import asyncio
import pathlib
import sys

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


async def pair_with(device, address):
    there = Address(address, Address.PUBLIC_DEVICE_ADDRESS)
    connection = await device.connect(there, transport=core.PhysicalTransport.BR_EDR)
    say("connected")
    await connection.authenticate()
    say("paired")
    await connection.encrypt()
    return connection


async def redial(device, path, address):
    """Waits for the accessory's first bytes, closes, and dials again: each way of closing, each pause."""
    await device.power_on()
    say("ready")
    while not pathlib.Path(path).exists():
        await asyncio.sleep(0.1)
    connection = await pair_with(device, address)
    channel = await rfcomm.find_rfcomm_channel_with_uuid(connection, ACCESSORY)
    client = multiplexer = None
    for keeps in (True, False):
        for pause in (0, 0.02, 0.05, 0.2, 1):
            for attempt in range(3):
                begin = asyncio.get_running_loop().time()
                step = "multiplexer"
                try:
                    if multiplexer is None:
                        client = rfcomm.Client(connection)
                        multiplexer = await asyncio.wait_for(client.start(), 8)
                    step = "channel"
                    dlc = await asyncio.wait_for(multiplexer.open_dlc(channel), 8)
                    step = "bytes"
                    heard = asyncio.Event()
                    dlc.sink = lambda data, heard=heard: heard.set()
                    await asyncio.wait_for(heard.wait(), 8)
                    outcome = "heard"
                    step = "close"
                    await asyncio.wait_for(dlc.disconnect(), 8)
                except Exception as error:
                    outcome = f"failed at {step}: {type(error).__name__} {error}"
                    keeps_now = False
                else:
                    keeps_now = keeps
                if not keeps_now and client is not None:
                    try:
                        await asyncio.wait_for(client.shutdown(), 8)
                    except Exception as error:
                        say(f"shutdown: {type(error).__name__} {error}")
                    client = multiplexer = None
                took = asyncio.get_running_loop().time() - begin
                say(f"redial keeps={keeps} pause={pause} {attempt}: {outcome} ({took:.2f} s)")
                await asyncio.sleep(pause)
    say("over")


async def be_device(device, path, address):
    await device.power_on()
    connection = None

    async def dial(reader, writer):
        nonlocal connection
        if connection is None:
            connection = await pair_with(device, address)
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
