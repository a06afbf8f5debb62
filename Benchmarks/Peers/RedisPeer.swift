import CEpoll
import Glibc

/// Redis with its log synced before each answer: a write is an XADD, and who follows waits in XREAD BLOCK.
///
/// A stream is a log. Nothing is merged into a row, no reader asks a question, and every reader gets every entry.
struct RedisPeer: Peer {
    let name = "Redis"
    let path = "XADD to the entry from XREAD BLOCK"
    /// As A awaits each write, as many at once do, and as A does not wait for the server.
    let commitForms = [
        CommitForm(), CommitForm(writerCount: 8), CommitForm(unansweredMax: 64),
    ]
    let readerMax = 10_000
    var goals: (propagation: Measurement.Goal, commits: Measurement.Goal) { (.none, .none) }

    private let port: UInt16

    /// - Throws: ``BenchmarkError`` if it does not sync each write.
    init(port: UInt16) throws {
        self.port = port
        let connection = try RespConnection(port: port)
        for (setting, wanted) in [("appendonly", "yes"), ("appendfsync", "always")] {
            let value = try connection.call("CONFIG", "GET", setting).elements.last?.string
            try check(value, is: wanted, "\(setting) of Redis")
        }
    }

    func makeCars(_ count: Int) throws -> any PeerCars { RedisStream(port: port, carCount: count) }

    /// All readers are on one thread, as ours are.
    func fanOut(to readerCount: Int, rounds: Int) async throws -> Double {
        let stream = RedisStream(port: port, carCount: 10)
        let writer = RedisStream.Writer(connection: try RespConnection(port: port), stream: stream)
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        defer { close(epoll) }
        let readers = try (0..<readerCount).map { index in
            let reader = try RedisStream.Reader(stream)
            var event = epoll_event()
            event.events = EPOLLIN.rawValue
            event.data.u64 = UInt64(index)
            guard epoll_ctl(epoll, EPOLL_CTL_ADD, reader.connection.descriptor, &event) == 0 else {
                throw BenchmarkError("epoll_ctl failed")
            }
            try reader.ask()
            return reader
        }
        var events = [epoll_event](repeating: epoll_event(), count: 512)
        var seconds = 0.0
        // The first round waits until all readers are blocked, and is not counted.
        for round in 0...rounds {
            let start = ContinuousClock.now
            try writer.send(car: round % stream.carCount, views: round)
            var left = readerCount
            while left > 0 {
                let ready = epoll_wait(epoll, &events, Int32(events.count), 60_000)
                guard ready != 0 else { throw BenchmarkError("\(left) readers of Redis wait for round \(round)") }
                for event in events.prefix(Int(max(ready, 0))) {
                    let reader = readers[Int(event.data.u64)]
                    try check(try reader.receive().map(\.views), is: [round], "what a reader has of round \(round)")
                    try reader.ask()
                    left -= 1
                }
            }
            if round > 0 { seconds += (ContinuousClock.now - start) / .seconds(1) }
            _ = try writer.connection.receive()
        }
        return Double(readerCount * rounds) / seconds
    }
}
