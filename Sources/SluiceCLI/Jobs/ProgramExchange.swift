internal import Glibc

/// Gives a running program what it reads and takes what it prints, until it has ended and its output is closed.
///
/// A child process that a program leaves behind may keep the output open for ever. So once the program has ended, the
/// close is waited for only a while.
struct ProgramExchange {
    /// The end of a pipe that the program reads from.
    let input: Int32
    /// The end of a pipe that the program prints to.
    let output: Int32
    /// A pipe that is closed once the program has ended.
    let ending: Int32
    /// How long the close of the output is waited for then.
    let grace: Duration

    private static let chunkByteCount = 1 << 16
    /// How many chunks a pipe may hold that has been made as large as the system allows.
    private static let chunkCountMax = 16

    /// Exchanges, and closes the pipes.
    ///
    /// - Parameters:
    ///   - bytes: what the program reads. It may end without having read all.
    ///   - take: is given what it prints.
    /// - Returns: false if the output was still open when the wait was over.
    func run(_ bytes: [UInt8], _ take: (ArraySlice<UInt8>) -> Void) -> Bool {
        for descriptor in [input, output] { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
        var buffer = [UInt8](repeating: 0, count: Self.chunkByteCount)
        var rest = bytes[...]
        var (isWriting, isReading) = (true, true)
        var deadline: ContinuousClock.Instant?
        defer {
            for descriptor in (isWriting ? [input] : []) + [output, ending] { close(descriptor) }
        }
        while isReading || deadline == nil {
            if isWriting, rest.isEmpty {
                close(input)
                isWriting = false
            }
            let wait = deadline.map { ContinuousClock.now.duration(to: $0) }
            if let wait, wait <= .zero { return drain(&buffer, take) }
            var watched = [
                pollfd(fd: isReading ? output : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: deadline == nil ? ending : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isWriting ? input : -1, events: Int16(POLLOUT), revents: 0),
            ]
            guard poll(&watched, nfds_t(watched.count), wait.map(Self.milliseconds) ?? -1) >= 0 else {
                if errno == EINTR { continue }
                return false
            }
            if watched[2].revents != 0, !write(&rest) { rest = [] }
            if watched[0].revents != 0 { isReading = read(&buffer, take) != .end }
            if watched[1].revents != 0 {
                deadline = ContinuousClock.now.advanced(by: grace)
                // What it has not read, nobody is to read.
                rest = []
            }
        }
        return true
    }

    private enum Reading {
        case some
        case none
        case end
    }

    private func read(_ buffer: inout [UInt8], _ take: (ArraySlice<UInt8>) -> Void) -> Reading {
        let count = Glibc.read(output, &buffer, buffer.count)
        guard count > 0 else { return count < 0 && (errno == EINTR || errno == EAGAIN) ? .none : .end }
        take(buffer[..<count])
        return .some
    }

    /// - Returns: false if nobody reads any more.
    private func write(_ rest: inout ArraySlice<UInt8>) -> Bool {
        let count = rest.withUnsafeBytes { Glibc.write(input, $0.baseAddress, min($0.count, Self.chunkByteCount)) }
        guard count >= 0 else { return errno == EINTR || errno == EAGAIN }
        rest = rest.dropFirst(count)
        return true
    }

    /// Takes what the pipe has when the wait is over: whoever has it open may print for ever.
    ///
    /// - Returns: whether the output is closed.
    private func drain(_ buffer: inout [UInt8], _ take: (ArraySlice<UInt8>) -> Void) -> Bool {
        for _ in 0...Self.chunkCountMax {
            switch read(&buffer, take) {
            case .some: continue
            case .none: return false
            case .end: return true
            }
        }
        return false
    }

    /// A wait for `poll`, no shorter than it is, and a minute at most.
    private static func milliseconds(_ wait: Duration) -> Int32 {
        Int32(min(60_000, (wait / .milliseconds(1)).rounded(.up)))
    }
}
