/// Where the value of a setting comes from. A later case counts for more.
enum SettingOrigin: Hashable, Sendable {
    /// The configuration file, with the line's number from 1.
    case file(String, line: Int)
    /// A variable of the environment.
    case environment(String)
    case commandLine

    /// The place as messages name it: `sluice.conf:3`, `SLUICE_LISTEN` or `--listen`.
    func place(of option: String) -> String {
        switch self {
        case .file(let path, let line): "\(path):\(line)"
        case .environment(let name): name
        case .commandLine: "--\(option)"
        }
    }
}
