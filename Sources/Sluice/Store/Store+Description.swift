internal import SluiceModel

extension Store: CustomStringConvertible {
    /// One line: where the store lives, its first ten classes, and whether it is closed. No addresses and no credentials.
    public var description: String {
        let place =
            switch core.configuration.location {
            case .file(let path): path
            case .memory: "in memory"
            }
        let classes = BoundedText.list(schema.classNames)
        return "Store(\(place): \(classes)\(core.isClosed ? "; closed" : ""))"
    }
}
