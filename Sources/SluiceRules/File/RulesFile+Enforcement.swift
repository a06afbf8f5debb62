extension RulesFile {
    /// The parts of the file that a server does not enforce yet. A server refuses such a file, since it would show what
    /// the file hides.
    package var unenforced: [RulesProblem] {
        document.classes.flatMap { declared -> [RulesProblem] in
            var found: [RulesProblem] = []
            func report(_ place: FilePlace, _ message: String) {
                let (line, column) = document.places.position(of: place.start)
                found.append(RulesProblem(line: line, column: column, place: place.path, message: message))
            }
            if declared.rules.hidesIdentity {
                report(declared.rules.place, "this server does not hide the identity of what links lead to")
            }
            for field in declared.rules.fields where field.rules.read != nil {
                report(
                    field.rules.place,
                    "this server does not hide single properties; put '\(field.name)' into a class of its own, which "
                        + "this one links to")
            }
            return found
        }
    }
}
