internal import Glibc
internal import SluiceModel
internal import SluiceServer
internal import SluiceStorage

/// What `serve` finds amiss on its machine before it starts: files that others can read, backups that would be lost with
/// what they are of, and too few descriptors.
struct StartWarnings {
    let log: LogSink?

    /// Notes all that is amiss.
    ///
    /// - Parameter secretFiles: the files with secrets that the options name.
    func note(_ configuration: ServerConfiguration, secretFiles: [String]) {
        raiseDescriptors(for: configuration.connectionCountMax)
        if let data = configuration.dataFolder {
            notePlace(of: configuration.backups?.folder, "the folder of backups", beside: data)
            notePlace(of: configuration.archive, "the archive", beside: data)
        }
        // Whoever can reach a server for development may do everything.
        guard !configuration.isDevelopment else { return }
        if let folder = configuration.dataFolder {
            noteExposure(of: folder, "the data folder", to: 0o077, advice: "chmod 700")
            noteExposure(of: folder + "/" + UserFile.name, "the file of users", to: 0o077, advice: "chmod 600")
        }
        // A group may have the keys of a machine's certificates.
        if let key = configuration.certificate?.keyFile {
            noteExposure(of: key, "the certificate's key", to: 0o027, advice: "chmod 640 or 600")
        }
        for file in secretFiles { noteExposure(of: file, "a secret", to: 0o037, advice: "chmod 640 or 600") }
    }

    /// Notes a file to which others than its owner have access.
    ///
    /// - Parameter mask: the permissions that nobody else should have.
    private func noteExposure(of path: String, _ what: String, to mask: mode_t, advice: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & mask != 0 else { return }
        log?.about(.login)(
            .warning, "others can read or change what is secret",
            [
                ("what", what), ("file", path), ("mode", String(status.st_mode & 0o777, radix: 8)),
                ("advice", "\(advice) \(path)"),
            ])
    }

    /// Notes a folder that is inside the data folder: whoever loses the one loses the other.
    private func notePlace(of folder: String?, _ what: String, beside data: String) {
        guard let folder else { return }
        // Before the first start neither is there, and only the names can be compared.
        let places = [(folder, data), (FilePath.canonical(folder), FilePath.canonical(data))]
        guard places.contains(where: { ($0 + "/").hasPrefix($1.hasSuffix("/") ? $1 : $1 + "/") }) else { return }
        log?.about(.database)(
            .warning, "what is lost with the data folder does not restore it",
            [
                ("what", what), ("folder", folder), ("data", data),
                ("advice", "name a folder outside, on another disk if there is one"),
            ])
    }

    // MARK: Descriptors

    /// What the server needs beside those of connections: its databases' files, pipes and listeners.
    static let spareDescriptorCount = 256

    /// Raises the limit of open files as far as the system lets this user, and notes if it stays too low.
    private func raiseDescriptors(for connectionCount: Int) {
        let needed = rlim_t(connectionCount + Self.spareDescriptorCount)
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < needed else { return }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        guard limit.rlim_cur < needed else { return }
        log?.about(.network)(
            .warning, "the system allows too few open files for all connections",
            [
                ("files", "\(limit.rlim_cur)"), ("connections", "\(connectionCount)"), ("needed", "\(needed)"),
                ("advice", "raise the hard limit: LimitNOFILE= of the unit, or ulimit -Hn"),
            ])
    }
}
