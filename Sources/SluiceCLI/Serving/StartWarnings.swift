internal import Glibc
internal import SluiceModel
internal import SluiceServer
internal import SluiceStorage

/// What `serve` finds amiss on its machine before it starts: files that others can read, backups that would be lost with
/// what they are of, and too few descriptors.
struct StartWarnings {
    let log: LogSink?

    /// A file or folder to which others than its owner should have less access than they may have.
    private struct Exposure {
        let path: String
        let what: String
        /// The permissions that nobody else should have.
        let mask: mode_t
        /// What takes them away.
        let advice: String

        /// Of the owner alone.
        static func folder(_ path: String, _ what: String) -> Exposure {
            Exposure(path: path, what: what, mask: 0o077, advice: "chmod 700")
        }

        /// A group may read it.
        static func secret(_ path: String, _ what: String) -> Exposure {
            Exposure(path: path, what: what, mask: 0o037, advice: "chmod 640 or 600")
        }
    }

    /// Notes all that is amiss.
    func note(_ settings: ServeSettings) {
        let configuration = settings.configuration
        raiseDescriptors(for: configuration.connectionCountMax)
        if let data = configuration.dataFolder {
            notePlace(of: configuration.backups?.folder, "the folder of backups", beside: data)
            notePlace(of: configuration.archive, "the archive", beside: data)
        }
        for exposure in Self.exposures(ofPasswordsIn: settings.settings) { note(exposure) }
        // Whoever can reach a server for development may do everything.
        guard !configuration.isDevelopment else { return }
        for exposure in Self.exposures(of: configuration) { note(exposure) }
        for file in settings.secretFiles { note(.secret(file, "a secret")) }
    }

    private static func exposures(of configuration: ServerConfiguration) -> [Exposure] {
        var exposures: [Exposure] = []
        if let folder = configuration.dataFolder {
            exposures.append(.folder(folder, "the data folder"))
            exposures.append(
                Exposure(
                    path: folder + "/" + UserFile.name, what: "the file of users", mask: 0o077, advice: "chmod 600"))
        }
        if let folder = configuration.backups?.folder { exposures.append(.folder(folder, "the folder of backups")) }
        if let folder = configuration.archive { exposures.append(.folder(folder, "the archive")) }
        // A group may have the keys of a machine's certificates.
        if let key = configuration.certificate?.keyFile {
            exposures.append(
                Exposure(path: key, what: "the certificate's key", mask: 0o027, advice: "chmod 640 or 600"))
        }
        if let file = configuration.auditLog as? AuditFile { exposures.append(.secret(file.path, "the audit log")) }
        return exposures
    }

    /// The files that have the password of a journal: those that its settings name, and the file of settings that has
    /// the URL itself.
    private static func exposures(ofPasswordsIn settings: Settings) -> [Exposure] {
        ["journal", "journal-listen"].flatMap { name -> [Exposure] in
            guard let value = settings.values.value(name) else { return [] }
            if value.hasPrefix("file:") { return [.secret(String(value.dropFirst(5)), "the file of --\(name)")] }
            guard case .file(let path, _)? = settings.origin(of: name), Settings.withoutPassword(value) != value else {
                return []
            }
            return [.secret(path, "the password of '\(name)' in the file of settings")]
        }
    }

    /// Notes a file to which others have access.
    private func note(_ exposure: Exposure) {
        var status = stat()
        guard stat(exposure.path, &status) == 0, status.st_mode & exposure.mask != 0 else { return }
        log?.about(.login)(
            .warning, "others can read or change what is secret",
            [
                ("what", exposure.what), ("file", exposure.path), ("mode", String(status.st_mode & 0o777, radix: 8)),
                ("advice", "\(exposure.advice) \(exposure.path)"),
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
