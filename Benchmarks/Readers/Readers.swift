import CEpoll
import Glibc

/// Runs many sockets that receive, in one loop; ``ReaderProcess`` starts it. It tells its parent when all are ready,
/// and after each round, in which every reader receives one message.
final class Readers {
    private static let openingMax = 200

    private let port: UInt16
    private let count: Int
    private let greeting: [UInt8]?
    /// How many of the readers stop reading once all are ready. Rounds end without them.
    private let stalledCount: Int
    private let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    private var readers: [Reader] = []
    private var readyCount = 0
    private var round = 1
    private var roundCount = 0
    private var roundByteCount = 0

    /// - Parameter arguments: port, number of readers, a form, and how many of them stall.
    init(_ arguments: [String]) throws {
        guard arguments.count == 4, let port = UInt16(arguments[0]), let count = Int(arguments[1]),
            let stalledCount = Int(arguments[3]), (0..<count).contains(stalledCount)
        else {
            throw BenchmarkError("the reader process needs a port, a count, a mode, and how many readers stall")
        }
        self.port = port
        self.count = count
        self.stalledCount = stalledCount
        greeting =
            switch ReaderProcess.Form(rawValue: arguments[2]) {
            case .frames: try SyncGreeting.bytes(port: port)
            case .json: SyncGreeting.json(port: port)
            case .raw, nil: nil
            }
        readers.reserveCapacity(count)
        Descriptors.raiseLimit()
    }

    deinit { buffer.deallocate() }

    /// Runs until the parent closes standard input.
    func run() throws {
        try watch(0, tag: .max)
        var events = [epoll_event](repeating: epoll_event(), count: 512)
        while true {
            while readers.count < count, readers.count - readyCount < Self.openingMax { try open() }
            let ready = epoll_wait(epoll, &events, Int32(events.count), -1)
            for event in events.prefix(Int(max(ready, 0))) {
                guard event.data.u64 != .max else { return }
                try receive(Int(event.data.u64))
            }
        }
    }

    private func open() throws {
        let reader = try Reader(port: port, greeting: greeting)
        try watch(reader.descriptor, tag: UInt64(readers.count))
        readers.append(reader)
        if reader.isReady { try noteReady() }
    }

    private func watch(_ descriptor: Int32, tag: UInt64) throws {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = tag
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else { throw BenchmarkError("epoll_ctl failed") }
    }

    private func receive(_ index: Int) throws {
        let reader = readers[index]
        let byteCount = recv(reader.descriptor, buffer.baseAddress, buffer.count, 0)
        guard byteCount > 0 else {
            if byteCount < 0, errno == EAGAIN { return }
            throw BenchmarkError("the server closed a reader's connection")
        }
        let wasReady = reader.isReady
        let before = reader.byteCount
        let messages = try reader.accept(UnsafeRawBufferPointer(rebasing: buffer[..<byteCount]))
        if !wasReady {
            if reader.isReady { try noteReady() }
            return
        }
        roundByteCount += reader.byteCount - before
        guard messages > 0 else { return }
        guard reader.messageCount == round else {
            throw BenchmarkError("a reader has \(reader.messageCount) messages in round \(round)")
        }
        roundCount += 1
        if roundCount == count - stalledCount { endRound() }
    }

    private func noteReady() throws {
        readyCount += 1
        guard readyCount == count else { return }
        for reader in readers.prefix(stalledCount) {
            guard epoll_ctl(epoll, EPOLL_CTL_DEL, reader.descriptor, nil) == 0 else {
                throw BenchmarkError("epoll_ctl failed")
            }
        }
        say("ready")
    }

    private func endRound() {
        say("round \(ReaderProcess.now) \(roundByteCount)")
        round += 1
        roundCount = 0
        roundByteCount = 0
    }

    private func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }
}
