// Finds the tools, reads three things at the same time, and files one issue.
const found = await tools.search({ query: "create an issue", limit: 3 });
console.log("found", found.items.map((tool) => tool.path).join(", "));

const repository = { owner: "octocat", repo: "hello-world" };
const [me, issues, labels] = await Promise.all([
  tools.github.users.getAuthenticated({}),
  tools.github.issues.listForRepo({ ...repository, state: "open" }),
  tools.github.issues.listLabelsForRepo(repository),
]);
console.log(`${me.login} sees ${issues.length} open issues and ${labels.length} labels`);

interface Issue { number: number; title: string; html_url: string }
const issue: Issue = await tools.github.issues.create({
  ...repository,
  body: { title: `Triage: ${issues.length} open issues`, labels: labels.slice(0, 1).map((label) => label.name) },
});
return { filed: issue.number, title: issue.title, seenBy: me.login };
