internal import Glibc

/// A program that is to be started as a process, and what it has from this one: streams, signals, a group, variables.
struct ProcessLaunch {
    /// The program, which is looked up on `PATH` where it is a name.
    private let program: String
    /// How the program is called, and its arguments.
    private let words: [String]
    /// Descriptors of this process, and the standard streams that they become.
    var streams: [(descriptor: Int32, stream: Int32)] = []
    /// The standard streams on which nobody reads what is written.
    var unreadStreams: [Int32] = []
    /// Which signals have their default action; then none is blocked either. Nil for signals as this process has them.
    var defaultSignals: [Int32]?
    /// Whether it has a process group of its own: what a terminal sends at Ctrl-C is not for it.
    var hasOwnGroup = false
    /// Variables that it finds beside those of this process, or instead of them.
    var variables: [(String, String)] = []

    init(_ program: String, _ words: [String]) {
        self.program = program
        self.words = words
    }

    /// Starts the process. All other descriptors of this one are closed in it if they have `FD_CLOEXEC`.
    ///
    /// - Returns: the process, and 0; or an error code, and no process.
    func start() -> (id: pid_t, code: Int32) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, stream) in streams { posix_spawn_file_actions_adddup2(&actions, descriptor, stream) }
        for stream in unreadStreams { posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var flags: Int32 = 0
        if let defaultSignals {
            var defaults = sigset_t()
            sigemptyset(&defaults)
            for number in defaultSignals { sigaddset(&defaults, number) }
            posix_spawnattr_setsigdefault(&attributes, &defaults)
            // The threads of queues block signals, and the program would do so, too: it would not hear that it is to end.
            var noSignals = sigset_t()
            sigemptyset(&noSignals)
            posix_spawnattr_setsigmask(&attributes, &noSignals)
            flags |= POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        }
        if hasOwnGroup {
            posix_spawnattr_setpgroup(&attributes, 0)
            flags |= POSIX_SPAWN_SETPGROUP
        }
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var copies = environment
        defer { (arguments + copies).forEach { free($0) } }
        var id: pid_t = 0
        let code = posix_spawnp(&id, program, &actions, &attributes, &arguments, &copies)
        return (id, code)
    }

    /// The variables of the process, each copied.
    private var environment: [UnsafeMutablePointer<CChar>?] {
        var all: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let variable = next.pointee {
            let text = String(cString: variable)
            if !variables.contains(where: { text.hasPrefix("\($0.0)=") }) { all.append(strdup(variable)) }
            next += 1
        }
        return all + variables.map { strdup("\($0.0)=\($0.1)") } + [nil]
    }
}
