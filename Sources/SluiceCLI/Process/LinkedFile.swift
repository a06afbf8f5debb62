internal import Glibc

/// Where the file of a path is, for those that replace it by another one under its name: behind symbolic links, so that
/// these stay.
enum LinkedFile {
    /// As many as the system follows.
    private static let linkCountMax = 40

    /// The path itself, or what the symbolic link at its end leads to in the end, which need not be there.
    static func behindLinks(_ path: String) -> String {
        var place = path
        for _ in 0..<linkCountMax {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(place, &buffer, buffer.count)
            guard count > 0 else { return place }
            let target = String(decoding: buffer[..<count].lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
            place = target.hasPrefix("/") ? target : folder(of: place) + "/" + target
        }
        // Whoever opens it is told that it leads nowhere.
        return path
    }

    /// The folder of a file.
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
