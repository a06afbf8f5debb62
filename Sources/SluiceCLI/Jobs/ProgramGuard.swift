internal import Glibc
internal import Synchronization

/// A process beside `sluice run` that ends the programs if that is killed: they would go on with rows that another worker
/// is given when the leases have ended.
///
/// It reads from a pipe which process groups there are. The system closes the pipe however `sluice run` ends. The signal
/// of `PR_SET_PDEATHSIG` would not do: it comes when the thread ends that has started the program, and reaches the program
/// alone, not what it has started.
///
/// A program that `sluice run` had no time to tell of is found by a variable in its environment.
final class ProgramGuard: Sendable {
    /// The argument with which this program is such a process; the one after it is what the variable has.
    static let argument = "--guard-programs"
    private static let variable = "SLUICE_GUARD"

    /// The end of the pipe that tells it of groups; nil if there is no such process.
    private let pipe: Int32?
    /// What programs find in their environment.
    let mark: (String, String)

    init() {
        let token = String(UInt64.random(in: 0 ... .max), radix: 36)
        mark = (Self.variable, token)
        do throws(CommandError) { pipe = try Self.start(token) } catch {
            Diagnostics.report("\(error.message); programs go on if this command is killed")
            pipe = nil
        }
    }

    deinit {
        tell("end\n")
        if let pipe { close(pipe) }
    }

    /// Has the programs of a process group ended if this process is killed.
    func add(_ group: pid_t) { tell("+\(group)\n") }

    /// Leaves a process group alone. Call it while the group's first process is not reaped, so that the number is still its.
    func remove(_ group: pid_t) { tell("-\(group)\n") }

    private func tell(_ line: String) {
        guard let pipe else { return }
        // So short a line is written as a whole, whoever else writes one.
        Array(line.utf8).withUnsafeBytes { _ = SystemCall.writeAll($0, to: pipe) }
    }

    private static func start(_ token: String) throws(CommandError) -> Int32 {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else { throw .system("the guard of programs cannot be started", code: errno) }
        for descriptor in ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
        // Whoever reads what this process prints waits for the end of all that could print there.
        for output in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        // A group of its own: what a terminal sends at Ctrl-C is not for it.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        // Copies, since the call takes texts that may change; they are freed when it has returned.
        var words: [UnsafeMutablePointer<CChar>?] = [strdup("sluice"), strdup(argument), strdup(token), nil]
        var id: pid_t = 0
        let code = posix_spawn(&id, "/proc/self/exe", &actions, &attributes, &words, environ)
        words.forEach { free($0) }
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
        close(ends[0])
        guard code == 0 else {
            close(ends[1])
            throw .system("the guard of programs cannot be started", code: code)
        }
        return ends[1]
    }

    // MARK: In the process

    /// How long programs have to end in order, and how often is looked whether they have, in milliseconds.
    private static let grace: Int32 = 10_000
    private static let glance: Int32 = 100

    /// Is that process, until the pipe is closed.
    ///
    /// - Parameter token: what the programs have in their environment.
    static func serve(_ token: String) {
        for number in [SIGTERM, SIGINT, SIGHUP] { signal(number, SIG_IGN) }
        var groups: Set<pid_t> = []
        var hasEndedInOrder = false
        while let line = readLine() {
            if line == "end" { hasEndedInOrder = true }
            guard let group = pid_t(line.dropFirst()), group > 1 else { continue }
            if line.hasPrefix("+") { groups.insert(group) } else { groups.remove(group) }
        }
        if !hasEndedInOrder { groups.formUnion(marked(by: token)) }
        groups.forEach { kill(-$0, SIGTERM) }
        var waited: Int32 = 0
        while waited < grace, !groups.isEmpty {
            poll(nil, 0, glance)
            waited += glance
            groups = groups.filter { kill(-$0, 0) == 0 }
        }
        groups.forEach { kill(-$0, SIGKILL) }
    }

    /// The process groups of this session whose first process has the token in its environment.
    private static func marked(by token: String) -> [pid_t] {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        let mark = Array("\(variable)=\(token)".utf8)
        var found: [pid_t] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let process = pid_t(name), process != getpid(), getpgid(process) == process,
                getsid(process) == getsid(0), environment(of: process).contains(mark[...])
            else { continue }
            found.append(process)
        }
        return found
    }

    private static func environment(of process: pid_t) -> [ArraySlice<UInt8>] {
        let descriptor = open("/proc/\(process)/environ", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < 16 << 20 {
            let count = read(descriptor, &part, part.count)
            guard count > 0 else { break }
            bytes += part[..<count]
        }
        return bytes.split(separator: 0)
    }
}
