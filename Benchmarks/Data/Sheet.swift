import Sluice

/// A list that several people edit.
@Model struct Sheet {
    @PrimaryKey var id: String
    var lines: [String] = []

    /// The sheet of a size: always the same one.
    static func of(_ count: Int) -> Sheet { Sheet(id: "s", lines: (0..<count).map { "line \($0)" }) }
}
