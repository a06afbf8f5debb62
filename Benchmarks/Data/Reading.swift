import Sluice

/// What a meter has shown, in the order of its numbers.
@Model struct Reading {
    @PrimaryKey var id: Int
    var place: String
    var value: Double

    static func numbered(_ numbers: Range<Int>) -> [Reading] {
        numbers.map { Reading(id: $0, place: "place \($0 % 50)", value: Double($0 % 1_000)) }
    }

    /// The same meter as it is read later.
    func changed(_ run: Int) -> Reading { Reading(id: id, place: place, value: value + Double(run + 1) / 16) }
}
