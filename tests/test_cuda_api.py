"""The border to CUDA, over a stand-in for cuda-python: what is called, what errors say, what is given back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from engines.cuda_api import CudaApi
from engines.errors import DeviceError, DeviceLostError
from tests.fake_driver import Driver, Error


def test_the_device_says_what_it_is(driver: Driver) -> None:
    device = CudaApi().device
    assert (device.name, device.architecture, device.integrated) == ("Orin", "sm_87", False)
    driver.integrated = 1
    assert CudaApi().device.integrated


def test_the_talker_goes_before_the_codec(driver: Driver) -> None:
    cuda = CudaApi()
    cuda.stream(urgent=True)
    cuda.stream(urgent=False)
    assert driver.called("cuStreamCreateWithPriority") == [(1, -5), (1, 0)]


def test_who_waits_for_an_event_sleeps_and_no_other_stream_waits_of_itself(driver: Driver) -> None:
    """A thread that spins keeps a core busy; a stream of the usual kind waits for the default one."""
    cuda = CudaApi()
    cuda.stream(urgent=True)
    cuda.event()
    [(kind, _)], [(flags,)] = driver.called("cuStreamCreateWithPriority"), driver.called("cuEventCreate")
    assert kind == driver.CUstream_flags.CU_STREAM_NON_BLOCKING
    assert flags == driver.CUevent_flags.CU_EVENT_BLOCKING_SYNC | driver.CUevent_flags.CU_EVENT_DISABLE_TIMING


def test_a_recording_is_its_threads_own_affair(driver: Driver) -> None:
    """Any other mode forbids every other thread to allocate, and so a voice to be opened beside one that speaks."""
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    cuda.begin_recording(stream)
    assert driver.called("cuStreamBeginCapture") == [(stream, 1)], "thread-local"


def test_every_thread_enters_the_devices_context_once(driver: Driver) -> None:
    """Or the driver refuses its calls (201); a thread that makes none has nothing to enter."""
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    assert driver.called("cuCtxSetCurrent") == [("context",)]
    for times in (1, 2):
        with ThreadPoolExecutor(1) as thread:
            thread.submit(cuda.clear, 1, 2, stream).result()
            thread.submit(cuda.clear, 1, 2, stream).result()
        assert driver.called("cuCtxSetCurrent") == [("context",)] * (1 + times)
    entered = [name for name, _ in driver.calls].index("cuCtxSetCurrent")
    assert driver.calls[:entered][:2] == [("cuInit", (0,)), ("cuDeviceGet", (0,))], "the first GPU's"
    assert driver.calls[2][0] == "cuDevicePrimaryCtxRetain"


def test_no_room_names_sizes_and_remedy(driver: Driver) -> None:
    driver.errors["cuMemAlloc"] = Error.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(DeviceError, match=r"lower engine.slots.*7 MB were asked for, 3 MB are free"):
        CudaApi().allocate(7_000_000)


@pytest.mark.parametrize(("integrated", "free_bytes"), [(0, 3_000_000), (1, 6_000_000)])
def test_caches_count_as_free_where_memory_is_shared(
    integrated: int, free_bytes: int, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA tells the kernel's MemFree there, and page caches fill that within hours."""
    driver.integrated = integrated
    monkeypatch.setattr("engines.cuda_api.machine_memory_bytes", lambda: (6_000_000, 8_000_000))
    assert CudaApi().free_bytes() == free_bytes
    monkeypatch.setattr("engines.cuda_api.machine_memory_bytes", lambda: (None, None))
    assert CudaApi().free_bytes() == 3_000_000


def test_an_error_at_work_is_final(driver: Driver) -> None:
    cuda = CudaApi()
    event = cuda.event()
    driver.errors["cuEventSynchronize"] = Error.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceLostError, match=r"words of the driver \(CUDA_ERROR_ILLEGAL_ADDRESS\).*started again"):
        cuda.synchronize(event)


def test_everything_is_given_back_the_latest_first(driver: Driver) -> None:
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    cuda.allocate(100)
    cuda.begin_recording(stream)
    cuda.end_recording(stream)
    cuda.end_work()
    assert driver.calls[-1][0] == "cuGraphExecDestroy", "before what it ran"
    assert not driver.called("cuMemFree")
    cuda.close()
    names = [name for name, _ in driver.calls]
    assert names.index("cuGraphExecDestroy") < names.index("cuMemFree")
    assert driver.calls[-1] == ("cuStreamDestroy", (stream,)), "what was made first goes last"
    cuda.close()
    assert len(driver.called("cuMemFree")) == len(driver.called("cuGraphExecDestroy")) == 1


@pytest.mark.parametrize(("fails", "graphs"), [("cuStreamEndCapture", 0), ("cuGraphInstantiate", 1), ("", 1)])
def test_a_recording_that_failed_is_left_without_a_trace(driver: Driver, fails: str, graphs: int) -> None:
    """While it is recorded (""), when it ends, and when it is made ready."""
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    cuda.begin_recording(stream)
    if fails:
        driver.errors[fails] = Error.CUDA_ERROR_ILLEGAL_ADDRESS
        with pytest.raises(DeviceLostError, match=fails):
            cuda.end_recording(stream)
        driver.errors["cuStreamEndCapture"] = Error.CUDA_ERROR_ILLEGAL_ADDRESS  # nothing is recorded any more
    cuda.abandon_recording(stream)
    assert len(driver.called("cuGraphDestroy")) == graphs


def test_another_voice_may_be_recording_meanwhile(driver: Driver) -> None:
    """CUDA then forbids to wait for the device, and what waits for it of itself (900, 901)."""
    driver.errors |= dict.fromkeys(
        ("cuCtxSynchronize", "cuMemsetD8", "cuMemcpy"), Error.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    )
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    address, array = cuda.allocate(100), np.zeros(100, np.uint8)
    cuda.upload(address, array.ctypes.data, 100)
    driver.calls.clear()
    cuda.download(array.ctypes.data, address, 100)
    waited = driver.called("cuStreamSynchronize")
    assert waited[0] == (stream,), "what may still write it"
    assert [name for name, _ in driver.calls[-2:]] == ["cuMemcpyAsync", "cuStreamSynchronize"]
    cuda.close()
    assert driver.called("cuMemFree")


def test_set_up_is_over_when_every_stream_is_done(driver: Driver) -> None:
    cuda = CudaApi()
    streams = [cuda.stream(urgent=urgent) for urgent in (True, False)]
    cuda.event()  # no stream
    cuda.settle()
    assert driver.called("cuStreamSynchronize") == [(stream,) for stream in streams]
    driver.errors["cuStreamSynchronize"] = Error.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceLostError, match="words of the driver"):
        cuda.settle()


def test_rows_and_blocks_say_where_they_lie(driver: Driver) -> None:
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    cuda.copy_rows(1, 20, 3, 40, 5, 6, stream)
    cuda.clear_rows(1, 20, 5, 6, stream)
    assert driver.called("cuMemsetD2D8Async") == [(1, 20, 0, 5, 6, stream)]
    cuda.copy_blocks(1, 20, 7, 3, 40, 8, 5, 6, 9, stream)
    (rows, _), (blocks, on) = driver.called("cuMemcpy3DAsync")
    one = {"srcDevice": 3, "srcPitch": 40, "srcHeight": 6, "dstDevice": 1, "dstPitch": 20, "dstHeight": 6}
    same = {"srcMemoryType": 4, "dstMemoryType": 4, "WidthInBytes": 5, "Height": 6}
    assert vars(rows) == one | same | {"Depth": 1}
    assert vars(blocks) == one | same | {"srcHeight": 8, "dstHeight": 7, "Depth": 9}, "rows to the next block"
    assert on == stream


def test_memory_is_zeroed_and_what_is_brought_over_is_there_when_it_is_said(driver: Driver) -> None:
    cuda = CudaApi()
    address = cuda.allocate(100)
    [set_up] = driver.calls[-1][1]
    assert driver.called("cuStreamCreateWithPriority") == [(1, 0)], "not before another voice, which may be speaking"
    assert driver.calls[-2:] == [
        ("cuMemsetD8Async", (address, 0, 100, set_up)), ("cuStreamSynchronize", (set_up,)),
    ]  # fmt: skip
    cuda.upload(address, 77, 100)
    assert driver.calls[-2:] == [
        ("cuMemcpyAsync", (address, 77, 100, set_up)), ("cuStreamSynchronize", (set_up,)),
    ]  # fmt: skip


@pytest.mark.parametrize(("integrated", "flags", "mapped"), [(0, 0, 0), (1, 2, 1)])
def test_memory_of_the_host_is_mapped_where_the_device_shares_it(
    driver: Driver, integrated: int, flags: int, mapped: int
) -> None:
    driver.integrated = integrated
    memory = CudaApi().allocate_host(100)
    assert driver.called("cuMemHostAlloc") == [(100, flags)]
    assert driver.called("cuMemHostGetDevicePointer") == [(memory.address, 0)] * mapped
    assert (memory.device_address is not None) == bool(mapped)


def test_work_is_put_on_the_stream_it_is_for(driver: Driver) -> None:
    cuda = CudaApi()
    stream, event = cuda.stream(urgent=True), cuda.event()
    cuda.begin_recording(stream)
    sequence = cuda.end_recording(stream)
    driver.calls.clear()
    cuda.copy(1, 2, 3, stream)
    cuda.clear(1, 3, stream)
    cuda.record(event, stream)
    cuda.wait(stream, event)
    cuda.launch(sequence, stream)
    assert driver.calls == [
        ("cuMemcpyAsync", (1, 2, 3, stream)),
        ("cuMemsetD8Async", (1, 0, 3, stream)),
        ("cuEventRecord", (event, stream)),
        ("cuStreamWaitEvent", (stream, event, 0)),
        ("cuGraphLaunch", (sequence, stream)),
    ]


def test_what_was_recorded_is_on_the_device_before_it_is_launched(driver: Driver) -> None:
    """Or the first listener's frame would carry it there."""
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    cuda.begin_recording(stream)
    sequence = cuda.end_recording(stream)
    assert driver.calls[-1] == ("cuGraphUpload", (sequence, stream))
    assert [flags for _, flags in driver.called("cuGraphInstantiate")] == [0]
