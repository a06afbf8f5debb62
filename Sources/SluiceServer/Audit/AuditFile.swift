internal import Dispatch
internal import Glibc
public import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// A file of events, one JSON object on each line, to which only its owner has access.
///
/// It is written on a thread of its own, so that nobody waits for a disk. What cannot be written is lost, and counted: in
/// ``lostCount``, in the log, and as an event of its own once the file can be written again.
public final class AuditFile: AuditReceiver {
    /// The most bytes that wait to be written.
    private static let waitingByteCountMax = 8 << 20

    private struct Confined {
        var descriptor: Int32
        /// Whether the last line is not whole.
        var isTorn = false
        /// How many events were lost since the last one that was written, and when the last of them happened.
        var gap = 0
        var gapTime = Timestamp(microseconds: 0)

        mutating func noteLoss(of event: AuditEvent) {
            gap += 1
            gapTime = event.time
        }
    }

    /// The path of the file.
    public let path: String
    private let log: LogSink?
    private let queue = DispatchQueue(label: "sluice.audit", qos: .utility)
    private let confined: Mutex<Confined>
    private let waitingByteCount = Atomic<Int>(0)
    private let lost = Atomic<UInt64>(0)
    private let isFailing = Atomic(false)

    /// Opens the file, and makes it if it is missing. What root makes in a folder of another user is that user's.
    ///
    /// - Parameters:
    ///   - path: the file's path; its folder must exist.
    ///   - log: where it is said that the file cannot be written; nil for nowhere.
    /// - Throws: ``ServerError/Code/auditLog`` when the file cannot be opened, or is something else than a file.
    public init(_ path: String, log: LogSink? = nil) throws {
        self.path = path
        self.log = log
        confined = Mutex(Confined(descriptor: try Self.open(path)))
    }

    deinit { confined.withLock { _ = Glibc.close($0.descriptor) } }

    public var lostCount: UInt64 { lost.load(ordering: .relaxed) }

    public func receive(_ event: AuditEvent) {
        let line = event.json + "\n"
        let count = line.utf8.count
        guard waitingByteCount.wrappingAdd(count, ordering: .relaxed).newValue <= Self.waitingByteCountMax else {
            waitingByteCount.wrappingSubtract(count, ordering: .relaxed)
            return queue.async { [self] in
                confined.withLock { $0.noteLoss(of: event) }
                noteFailure("events come faster than the disk takes them")
            }
        }
        queue.async { [self] in
            write(line, of: event)
            waitingByteCount.wrappingSubtract(count, ordering: .relaxed)
        }
    }

    /// Opens the file anew, after another program has renamed it. If that fails, the events go on into the old one.
    public func reopen() {
        queue.async { [self] in
            do {
                let descriptor = try Self.open(path)
                confined.withLock { confined in
                    _ = Glibc.close(confined.descriptor)
                    confined.descriptor = descriptor
                    confined.isTorn = false
                }
            } catch {
                log?.about(.network)(
                    .error, "the audit log could not be opened again", [("file", path), ("error", "\(error)")])
            }
        }
    }

    /// Returns once all events so far are in the file, or lost.
    public func flush() { queue.sync {} }

    private static func open(_ path: String) throws(ServerError) -> Int32 {
        func failure(_ reason: String) -> ServerError {
            ServerError(.auditLog, "the audit log '\(path)' cannot be written: \(reason)")
        }
        // A pipe that nobody reads would be waited for.
        let descriptor = FileOwner.open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else {
            let reason =
                switch errno {
                case ENOENT: "its folder is missing; make it, or name another file"
                case EACCES, EPERM: "permission denied; let this user write there, or name another file"
                case EISDIR: "it is a folder; name a file in it"
                case ENXIO: "it is a pipe that nobody reads; name a file"
                case let code: String(cString: strerror(code)).lowercased()
                }
            throw failure(reason)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, [S_IFREG, S_IFCHR].contains(status.st_mode & S_IFMT) else {
            Glibc.close(descriptor)
            throw failure("it is no regular file; name one")
        }
        return descriptor
    }

    // MARK: On the queue

    private func write(_ line: String, of event: AuditEvent) {
        let (code, gap) = confined.withLock { confined -> (Int32, Int) in
            var text = confined.isTorn ? "\n" : ""
            if confined.gap > 0 {
                text += AuditEvent(.eventsLost, at: confined.gapTime, count: confined.gap).json + "\n"
            }
            let code = Self.write(text + line, to: confined.descriptor, &confined.isTorn)
            let gap = confined.gap
            if code == 0 { confined.gap = 0 } else { confined.noteLoss(of: event) }
            return (code, gap)
        }
        guard code == 0 else { return noteFailure(String(cString: strerror(code)).lowercased()) }
        guard isFailing.exchange(false, ordering: .relaxed) else { return }
        log?.about(.network)(.warning, "the audit log is written again", [("file", path), ("lost", "\(gap)")])
    }

    /// Counts an event that is lost, and logs the first.
    private func noteFailure(_ reason: String) {
        lost.wrappingAdd(1, ordering: .relaxed)
        guard !isFailing.exchange(true, ordering: .relaxed) else { return }
        log?.about(.network)(
            .error, "the audit log cannot be written; events are lost until it can",
            [("file", path), ("error", reason)])
    }

    /// - Returns: 0, or the system's error code.
    private static func write(_ text: String, to descriptor: Int32, _ isTorn: inout Bool) -> Int32 {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0 {
                    if errno == EINTR { continue }
                    return errno
                }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                isTorn = !rest.isEmpty
            }
            return 0
        }
    }
}
