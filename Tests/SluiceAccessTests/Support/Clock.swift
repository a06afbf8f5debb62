import SluiceModel
import Synchronization

/// A clock that stands still until a test sets it.
final class TestClock: Sendable {
    private let time: Mutex<Int64>

    init(_ seconds: Int64 = 1_700_000_000) { time = Mutex(seconds * 1_000_000) }

    var now: Timestamp { Timestamp(microseconds: time.withLock { $0 }) }

    func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }
}

/// Values that another thread appends.
final class Gathered<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    var all: [Value] { values.withLock { $0 } }

    func append(_ value: Value) { values.withLock { $0.append(value) } }
}
