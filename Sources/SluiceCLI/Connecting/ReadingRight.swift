internal import Sluice

/// Says when a command finds nothing because the rules let its user read nothing.
///
/// The server does not refuse such a query: what a user may read can change at any time, and the results change with it.
/// The schema, which every client has, tells that the class is there, and a user may ask for the own rights.
enum ReadingRight {
    /// Warns if the user may read no object of a query's class, whatever there is. Where the server cannot be asked, it
    /// warns of nothing.
    static func check(_ results: Results<Record>, in store: Store, within timeout: Duration) async {
        guard let query = try? results.query(), query.object == nil,
            let privileges = try? await store.privileges(ofClass: query.className, timeout: timeout),
            !privileges.contains(.read)
        else { return }
        Diagnostics.report(warning(query.className))
    }

    static func warning(_ className: String) -> String {
        "warning: the rules let this user read no object of \(className), so nothing is found; log in as somebody who may "
            + "(--user), or ask 'sluice can' for the reason"
    }
}
