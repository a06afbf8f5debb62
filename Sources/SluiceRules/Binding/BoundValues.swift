internal import SluiceQuery

/// The variables that a file of rules names, each with a place. All users share it.
final class VariablePlaces: Sendable {
    fileprivate let places: [VariableSyntax: Int]

    /// - Parameter variables: each once.
    init(_ variables: [VariableSyntax]) {
        places = Dictionary(uniqueKeysWithValues: variables.enumerated().map { ($1, $0) })
    }
}

/// The values of these variables for one user. There may be a hundred thousand users, so the values stand in an array.
struct BoundValues: Sendable {
    private let places: VariablePlaces
    private let values: [RuleValue]

    init(_ places: VariablePlaces, _ known: [VariableSyntax: RuleValue]) {
        self.places = places
        var values = Array(repeating: RuleValue.unknown, count: places.places.count)
        for (variable, place) in places.places { values[place] = known[variable] ?? .unknown }
        self.values = values
    }

    /// The value of a variable; nil for one that no rule names.
    subscript(variable: VariableSyntax) -> RuleValue? { places.places[variable].map { values[$0] } }
}
