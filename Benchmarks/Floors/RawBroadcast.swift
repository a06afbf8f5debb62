import CEpoll
import Glibc
import TestSupport

/// A server that consists of non-blocking sockets and a loop that sends the same bytes to each.
final class RawBroadcast {
    let port: UInt16
    private let listener: Int32
    private var sockets: [Int32] = []

    init() throws {
        (listener, port) = try Loopback.listen(backlog: 4096)
    }

    deinit {
        for socket in sockets { close(socket) }
        close(listener)
    }

    /// Accepts the connections of that many readers.
    func accept(_ count: Int) throws {
        while sockets.count < count {
            let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            let socket = CEpoll.accept4(listener, nil, nil, flags)
            guard socket >= 0 else { throw BenchmarkError("accept: \(String(cString: strerror(errno)))") }
            var isOn: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
            sockets.append(socket)
        }
    }

    /// Sends the same bytes to every reader, however many the kernel takes at a time.
    func sendMuch(_ bytes: [UInt8]) throws {
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        defer { close(epoll) }
        var sent = [Int](repeating: 0, count: sockets.count)
        var left = 0
        func proceed(_ index: Int) throws {
            while sent[index] < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Glibc.send(
                        sockets[index], $0.baseAddress! + sent[index], bytes.count - sent[index], Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else {
                    guard errno == EAGAIN else { throw BenchmarkError("send: \(String(cString: strerror(errno)))") }
                    return
                }
                sent[index] += count
            }
            left -= 1
        }
        for index in sockets.indices {
            left += 1
            try proceed(index)
            guard sent[index] < bytes.count else { continue }
            var event = epoll_event()
            event.events = EPOLLOUT.rawValue | EPOLLET.rawValue
            event.data.u64 = UInt64(index)
            guard epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[index], &event) == 0 else {
                throw BenchmarkError("epoll_ctl failed")
            }
        }
        var events = [epoll_event](repeating: epoll_event(), count: 512)
        while left > 0 {
            let ready = epoll_wait(epoll, &events, Int32(events.count), -1)
            for event in events.prefix(Int(max(ready, 0))) where sent[Int(event.data.u64)] < bytes.count {
                try proceed(Int(event.data.u64))
            }
        }
    }

    /// Sends the same bytes to every reader.
    func send(_ bytes: [UInt8]) throws {
        for socket in sockets {
            let sent = Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            guard sent == bytes.count else { throw BenchmarkError("a socket took \(sent) of \(bytes.count) bytes") }
        }
    }
}
