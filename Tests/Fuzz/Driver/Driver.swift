import FuzzTargets
import Glibc

/// libFuzzer calls this with each input. `SLUICE_FUZZ_TARGET` names the target.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    target.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

private let target: FuzzTarget = {
    let name = getenv("SLUICE_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        preconditionFailure("SLUICE_FUZZ_TARGET names no target; Tests/Fuzz/corpus has a folder for each")
    }
    return target
}()
