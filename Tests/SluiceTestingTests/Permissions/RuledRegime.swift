/// Rules of a ``RuledWorld`` that differ in who shares what, of which a test stores one after the other.
struct RuledRegime: Hashable {
    /// Whether the members of a team read its documents.
    var sharesWithTeams = true
    /// Whether everybody reads public documents.
    var sharesPublic = true
    /// Whether graders alone read grades, in rules that have graders.
    var hidesGrades = true

    private static let shared = "isPublic == TRUE OR owner.id == $user.id OR team IN $user.teams OR $role.admin"
    private static let grade = "\"$role.grader OR $role.admin\""

    /// - Parameter rules: those that share everything, and hide grades.
    func rules(of rules: String) -> String {
        precondition(rules.contains(Self.shared) && rules.contains(Self.grade))
        let conditions =
            (sharesPublic ? ["isPublic == TRUE"] : []) + ["owner.id == $user.id"]
            + (sharesWithTeams ? ["team IN $user.teams"] : []) + ["$role.admin"]
        return rules.replacing(Self.shared, with: conditions.joined(separator: " OR "))
            .replacing(Self.grade, with: hidesGrades ? Self.grade : "true")
    }
}
