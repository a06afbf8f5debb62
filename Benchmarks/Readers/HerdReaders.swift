import CEpoll
import Glibc
import SluiceWire

/// Runs many sockets that open a session each, and subscribe all at once when the parent says so; ``HerdProcess``
/// starts it. It tells its parent when all sessions are open, and when all subscriptions are complete.
final class HerdReaders {
    static let mode = "--herd"
    private static let openingMax = 200

    private struct Member {
        let descriptor: Int32
        var scanner = FrameScanner()
        /// The bytes that came since the parent's word.
        var byteCount = 0
    }

    private let port: UInt16
    private let count: Int
    /// How many bytes each socket waits for; nil if it speaks our protocol.
    private let rawByteCount: Int?
    private let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    private var members: [Member] = []
    private var readyCount = 0
    private var doneCount = 0
    private var hasBegun = false

    /// - Parameter arguments: port, number of sockets, and `sync` or the bytes that each socket receives.
    init(_ arguments: [String]) throws {
        guard arguments.count == 3, let port = UInt16(arguments[0]), let count = Int(arguments[1]) else {
            throw BenchmarkError("the herd needs a port, a count and a mode")
        }
        self.port = port
        self.count = count
        rawByteCount = Int(arguments[2])
        Descriptors.raiseLimit()
    }

    deinit { buffer.deallocate() }

    /// Runs until the parent closes standard input.
    func run() throws {
        try watch(0, tag: .max)
        let greeting = rawByteCount == nil ? try SyncGreeting.bytes(port: port, subscribes: false) : nil
        var events = [epoll_event](repeating: epoll_event(), count: 512)
        while true {
            while members.count < count, members.count - readyCount < Self.openingMax { try open(greeting) }
            let ready = epoll_wait(epoll, &events, Int32(events.count), -1)
            for event in events.prefix(Int(max(ready, 0))) {
                guard event.data.u64 == .max else {
                    try receive(Int(event.data.u64))
                    continue
                }
                guard read(0, buffer.baseAddress, 1) == 1 else { return }
                try begin()
            }
        }
    }

    private func open(_ greeting: [UInt8]?) throws {
        let reader = try Reader(port: port, greeting: greeting)
        try watch(reader.descriptor, tag: UInt64(members.count))
        members.append(Member(descriptor: reader.descriptor))
        if greeting == nil { noteReady() }
    }

    private func watch(_ descriptor: Int32, tag: UInt64) throws {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = tag
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else { throw BenchmarkError("epoll_ctl failed") }
    }

    private func begin() throws {
        hasBegun = true
        guard rawByteCount == nil else { return }
        let request = SyncGreeting.subscribe
        for member in members {
            guard send(member.descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
                throw BenchmarkError("a reader could not subscribe")
            }
        }
    }

    private func receive(_ index: Int) throws {
        let byteCount = recv(members[index].descriptor, buffer.baseAddress, buffer.count, 0)
        guard byteCount > 0 else {
            if byteCount < 0, errno == EAGAIN { return }
            throw BenchmarkError("the server closed a reader's connection")
        }
        if hasBegun { members[index].byteCount += byteCount }
        if let rawByteCount {
            if members[index].byteCount == rawByteCount { noteDone() }
            return
        }
        var types: [UInt8] = []
        try members[index].scanner.accept(UnsafeRawBufferPointer(rebasing: buffer[..<byteCount])) { types.append($0) }
        for type in types {
            switch type {
            case 0x82: noteReady()
            case 0x86: noteDone()
            case 0x87, 0x89: throw BenchmarkError("the server refused a reader")
            default: break
            }
        }
    }

    private func noteReady() {
        readyCount += 1
        if readyCount == count { say("ready") }
    }

    private func noteDone() {
        doneCount += 1
        guard doneCount == count else { return }
        say("round \(ReaderProcess.now) \(members.reduce(0) { $0 + $1.byteCount })")
    }

    private func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }
}
