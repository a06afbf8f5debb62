internal import Dispatch
internal import Glibc
internal import Sluice

/// Runs a program that is given lines on its standard input, and gives lines on its standard output.
///
/// It has the standard error and the environment of this process.
struct WorkerProgram: Sendable {
    /// How a run ended.
    struct Exit: Sendable {
        /// The exit code; 128 and the signal's number if a signal ended it.
        let code: Int32
        /// Whether a child process that it left behind kept its output open, so that nobody knows whether all has come.
        let isOutputHeld: Bool
    }

    private let words: [String]
    /// How long the output of a program that has ended may be open.
    private let outputGrace: Duration
    /// How long a program has to close its output once it has ended.
    static let outputGrace = Duration.seconds(5)
    /// How many seconds a program has to end in order.
    private static let grace = 10
    private static let queue = DispatchQueue(label: "sluice.workers", attributes: .concurrent)

    /// - Parameters:
    ///   - words: the program, which is looked up on `PATH`, and its arguments.
    ///   - outputGrace: how long its output may be open once it has ended.
    /// - Throws: ``CommandError`` when no program is named, or there is none of that name, before any row is blamed for that.
    init(_ words: [String], outputGrace: Duration = WorkerProgram.outputGrace) throws(CommandError) {
        guard let name = words.first, !name.isEmpty else {
            throw .usage("COMMAND is empty: name a program after --, such as './send-mails' or 'sh' '-c' 'SCRIPT'")
        }
        if let code = Self.obstacle(to: name) { throw .system("cannot start \(name)", code: code) }
        self.words = words
        self.outputGrace = outputGrace
    }

    /// Why a program cannot be started; nil if it is there.
    private static func obstacle(to name: String) -> Int32? {
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
        let found = folders.split(separator: ":", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? name : "\($0)/\(name)" }
        let paths = name.contains("/") ? [name] : found
        var obstacle = ENOENT
        for path in paths {
            var information = stat()
            guard stat(path, &information) == 0 else { continue }
            if information.st_mode & S_IFMT != S_IFDIR, access(path, X_OK) == 0 { return nil }
            obstacle = EACCES
        }
        return obstacle
    }

    /// Runs the program to its end, or until the task is cancelled: then it gets SIGTERM, and SIGKILL if it goes on.
    ///
    /// - Parameters:
    ///   - input: what it reads. Only once it is guarded, it is given any of it.
    ///   - environment: variables that it finds beside those of this process.
    ///   - guardian: ends it if this process is killed; nil for nobody.
    ///   - take: is given what it prints, as it comes, and returns false once that is too much: then the program gets
    ///     SIGTERM, and what it prints is given on until it has ended.
    /// - Throws: `JobError.Code.tryAgain` when it cannot be started, since it was there when this was made.
    func run(
        _ input: [UInt8], environment: [(String, String)], guardedBy guardian: ProgramGuard?,
        _ take: @escaping @Sendable (ArraySlice<UInt8>) -> Bool
    ) async throws -> Exit {
        let process: ProgramProcess
        do throws(CommandError) {
            process = try ProgramProcess(words, environment: environment, guardian)
        } catch { throw JobError.tryAgain(error.message) }
        let grace = outputGrace
        let (status, isHeld) = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Self.queue.async { process.watch() }
                Self.queue.async { continuation.resume(returning: process.finish(input, grace: grace, take)) }
            }
        } onCancel: {
            process.terminate()
            Self.queue.asyncAfter(deadline: .now() + .seconds(Self.grace)) { process.terminate(by: SIGKILL) }
        }
        let signal = status & 0x7F
        return Exit(code: signal == 0 ? (status >> 8) & 0xFF : 128 + signal, isOutputHeld: isHeld)
    }
}
